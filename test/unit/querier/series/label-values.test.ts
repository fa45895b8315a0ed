import { expect } from 'chai';

import { Integers } from '#services/querier/series/growing';
import { LabelValues } from '#services/querier/series/label-values';
import { Slices } from '#shared/clock/slices';
import { HurriedClock } from '#test/support/hurried-clock';

describe('LabelValues', () => {
  it('lists the series of each value below a limit', async () => {
    const numbers: number[] = [];
    const label = new LabelValues(1, 'job', (sid) => numbers[sid]);
    const add = (sid: number, value: string): void => {
      numbers.push(label.numberFor(value));
      label.add(numbers[sid], sid);
    };
    for (let sid = 0; sid < 100; sid++) add(sid, sid % 10 === 3 ? 'rare' : 'common');
    add(100, 'single');
    await label.postings.extendTo(101, label.values.length, new Slices(new HurriedClock()));
    const rare = label.numberOf('rare') ?? -1;
    expect([...label.postings.of(rare, 101)]).to.deep.equal([3, 13, 23, 33, 43, 53, 63, 73, 83, 93]);
    expect([...label.postings.of(rare, 33)]).to.deep.equal([3, 13, 23]);
    expect([label.countOf(rare), label.firstOf(rare)]).to.deep.equal([10, 3]);
    const single = label.numberOf('single') ?? -1;
    expect([...label.postings.of(single, 101)]).to.deep.equal([100]);
    expect([...label.postings.of(single, 100)]).to.deep.equal([]);
    expect(label.numberOf('none')).to.equal(undefined);
  });

  it('finds all values after they are split into several maps', () => {
    const label = new LabelValues(1, 'device', (sid) => sid);
    for (let sid = 0; sid < 100_000; sid++) label.add(label.numberFor(`device-${sid}`), sid);
    for (let sid = 0; sid < 100_000; sid++) {
      if (label.numberOf(`device-${sid}`) !== sid) expect.fail(`device-${sid} is not found`);
    }
    expect(label.numberFor('device-99999')).to.equal(99_999);
  });

  it('adds series after the others were sorted, in any number, until they are sorted again', async () => {
    const valueOf = (sid: number): number => (sid % 7 === 6 ? -1 : sid % 7);
    const label = new LabelValues(1, 'zone', valueOf);
    for (let value = 0; value < 7; value++) label.numberFor(`zone-${value}`);
    let count = 0;
    for (const more of [1, 5, 3000, 1, 200, 100, 20_000, 1]) {
      count += more;
      await label.postings.extendTo(count, 7, new Slices(new HurriedClock()));
      for (const value of [0, 5, 6]) {
        const expected = Array.from({ length: count }, (_, sid) => sid).filter((sid) => valueOf(sid) === value);
        expect([...label.postings.of(value, count)]).to.deep.equal(expected);
        const some = new Integers();
        label.postings.addTo(some, value, count - 2);
        expect([...some.array.subarray(0, some.length)]).to.deep.equal(expected.filter((sid) => sid < count - 2));
      }
    }
    expect(label.postings.bytes).to.be.below(count * 5);
  });
});
