import { expect } from 'chai';

import { SeriesIds } from '#services/ingester/memtable/series-ids';

const MANY = 200_000;

function lowOf(i: number): number {
  return Math.imul(i, 0x85ebca6b) >>> 0;
}

describe('SeriesIds', () => {
  it('finds each of many ids in several tables, and no other', () => {
    const ids = new SeriesIds();
    for (let i = 0; i < MANY; i++) if (ids.add(lowOf(i), i) !== i) expect.fail(`${i} gets another number`);
    for (let i = 0; i < MANY; i++) if (ids.find(lowOf(i), i) !== i) expect.fail(`${i} is ${ids.find(lowOf(i), i)}`);
    expect(ids.find(lowOf(5), 6)).to.equal(-1);
    expect(ids.tsidOf(MANY - 1)).to.equal((BigInt(MANY - 1) << 32n) | BigInt(lowOf(MANY - 1)));
  });

  it('takes no more than 32 bytes a series', () => {
    const ids = new SeriesIds();
    for (let i = 0; i < MANY; i++) ids.add(lowOf(i), i);
    expect(ids.bytes / MANY).to.be.below(32);
  });

  it('finds ids that all have the same topmost bits', () => {
    const ids = new SeriesIds();
    for (let i = 0; i < MANY; i++) ids.add(i, 0);
    expect(ids.find(MANY - 1, 0)).to.equal(MANY - 1);
    expect(ids.find(70_000, 0, 69_999)).to.equal(70_000);
    expect(ids.find(MANY, 0)).to.equal(-1);
  });

  it('is as fast with ids that were chosen to collide', () => {
    const took = (idOf: (i: number) => [low: number, high: number]): number => {
      const beganMs = performance.now();
      const ids = new SeriesIds();
      for (let i = 0; i < 60_000; i++) ids.add(...idOf(i));
      for (let i = 0; i < 60_000; i++) if (ids.find(...idOf(i)) !== i) expect.fail(`${i} is not found`);
      return performance.now() - beganMs;
    };
    const ordinaryMs = took((i) => [lowOf(i), i]);
    // A hash without secret factors, as used before, maps all of them to a small number.
    expect(took((i) => [(Math.imul(i, 0x9e3779b1) ^ (i & 15)) >>> 0, i])).to.be.below(100 + 50 * ordinaryMs);
    expect(took((i) => [0, (i << 16) >>> 0])).to.be.below(100 + 50 * ordinaryMs);
  });
});
