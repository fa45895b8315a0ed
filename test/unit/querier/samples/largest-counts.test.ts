import { expect } from 'chai';

import { LargestCounts } from '#services/querier/samples/largest-counts';

describe('LargestCounts', () => {
  it('keeps the largest counts, ties ordered by name', () => {
    const greatest = new LargestCounts(3);
    for (const [name, value] of [
      ['c', 5],
      ['a', 1],
      ['b', 5],
      ['d', 9],
      ['e', 5],
    ] as const) {
      greatest.add(name, value);
    }
    expect(greatest.counts).to.deep.equal([
      { name: 'd', value: 9 },
      { name: 'b', value: 5 },
      { name: 'c', value: 5 },
    ]);
  });

  it('keeps nothing with a limit of zero', () => {
    const greatest = new LargestCounts(0);
    greatest.add('a', 1);
    expect(greatest.counts).to.deep.equal([]);
  });

  it('is fast when each count is larger than all before', () => {
    const limit = 10_000;
    const names = Array.from({ length: 60_000 }, (_, i) => `n${100_000 - i}`);
    const beganMs = performance.now();
    const sorted = [...names].sort();
    const sortMs = performance.now() - beganMs;
    const greatest = new LargestCounts(limit);
    for (const name of names) greatest.add(name, 1);
    const { counts } = greatest;
    expect(performance.now() - beganMs).to.be.below(500 + 50 * sortMs);
    expect(counts.map(({ name }) => name)).to.deep.equal(sorted.slice(0, limit));
    greatest.add('z', 2);
    expect(greatest.counts.slice(0, 2).map(({ name }) => name)).to.deep.equal(['z', sorted[0]]);
    expect(greatest.counts).to.have.length(limit);
  });
});
