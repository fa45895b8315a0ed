import { expect } from 'chai';

import { LabelValues } from '#services/querier/series/label-values';

describe('LabelValues', () => {
  it('lists the series of each value below a limit', () => {
    const label = new LabelValues(1, 'job');
    for (let sid = 0; sid < 100; sid++) label.add(label.numberFor(sid % 10 === 3 ? 'rare' : 'common'), sid);
    label.add(label.numberFor('single'), 100);
    const rare = label.numberOf('rare') ?? -1;
    expect([...label.seriesOf(rare, 101)]).to.deep.equal([3, 13, 23, 33, 43, 53, 63, 73, 83, 93]);
    expect([...label.seriesOf(rare, 33)]).to.deep.equal([3, 13, 23]);
    expect([label.countOf(rare), label.firstOf(rare)]).to.deep.equal([10, 3]);
    const single = label.numberOf('single') ?? -1;
    expect([...label.seriesOf(single, 101)]).to.deep.equal([100]);
    expect([...label.seriesOf(single, 100)]).to.deep.equal([]);
    expect(label.numberOf('none')).to.equal(undefined);
  });

  it('finds all values after they are split into several maps', () => {
    const label = new LabelValues(1, 'device');
    for (let sid = 0; sid < 100_000; sid++) label.add(label.numberFor(`device-${sid}`), sid);
    for (let sid = 0; sid < 100_000; sid++) {
      if (label.numberOf(`device-${sid}`) !== sid) expect.fail(`device-${sid} is not found`);
    }
    expect(label.numberFor('device-99999')).to.equal(99_999);
    label.add(99_999, 100_000);
    expect([...label.seriesOf(99_999, 100_001)]).to.deep.equal([99_999, 100_000]);
  });
});
