import { expect } from 'chai';

import { Labels } from '#services/querier/series/labels';
import { LabelsCache } from '#services/querier/series/labels-cache';

describe('LabelsCache', () => {
  let made = 0;
  const make = (sid: number): Labels => {
    made++;
    return Labels.of([['sid', String(sid)]]);
  };

  beforeEach(() => (made = 0));

  it('returns cached labels by owner and key', () => {
    const memory = new LabelsCache(1 << 20);
    const [one, other] = [{}, {}];
    const first = memory.cached(one, 'a', make)(1);
    expect(memory.cached(one, 'a', make)(1)).to.equal(first);
    expect(memory.cached(one, 'b', make)(1)).not.to.equal(first);
    expect(memory.cached(other, 'a', make)(1)).not.to.equal(first);
    expect(made).to.equal(3);
  });

  it('drops all labels at its limit, also during a query', () => {
    const memory = new LabelsCache(100_000);
    const labelsOf = memory.cached({}, 'a', make);
    for (let sid = 0; sid < 10_000; sid++) expect(labelsOf(sid).get('sid')).to.equal(String(sid));
    made = 0;
    for (let sid = 0; sid < 10_000; sid++) labelsOf(sid);
    expect(made).to.be.above(9_000);
    made = 0;
    labelsOf(9_999);
    labelsOf(9_998);
    expect(made).to.be.below(2);
  });

  it('counts the length of long values', () => {
    const memory = new LabelsCache(1 << 20);
    const labelsOf = memory.cached({}, 'a', (sid) => {
      made++;
      return Labels.of([['text', `${sid}`.padEnd(100_000, 'x')]]);
    });
    for (const sid of [0, 1, 2, 3, 4, 5]) labelsOf(sid);
    labelsOf(0);
    expect(made).to.equal(7);
  });
});
