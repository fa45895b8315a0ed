import { expect } from 'chai';

import { startOf, startsOf, startWords, type TimeGrid } from '#services/querier/kernels/time-grid';

describe('starts of buckets', () => {
  const grids: readonly TimeGrid[] = [
    { buckets: undefined, first: 0n, count: 1 },
    { buckets: { step: 60_000_000_000n, origin: 0n }, first: 24_193_440n, count: 720 },
    { buckets: { step: 7n, origin: -3n }, first: -1000n, count: 2000 },
    // Products that are no exact doubles.
    { buckets: { step: 2n ** 40n + 1n, origin: -5n }, first: -12_345n, count: 2 ** 14 },
    { buckets: { step: 2n ** 52n - 1n, origin: 1n }, first: 3n, count: 1000 },
    // Low halves that overflow, before and after 1970.
    { buckets: { step: 2n ** 31n - 1n, origin: 0n }, first: -500n, count: 1000 },
    { buckets: { step: 3_600_000_000_000n, origin: 1n }, first: 400_000n, count: 2000 },
  ];
  for (const grid of grids) {
    it(`are the same, one by one and in an array: ${grid.count} buckets of ${grid.buckets?.step ?? 'any length'}`, () => {
      const start = startsOf(grid);
      for (let bucket = 0; bucket < grid.count; bucket++) {
        expect(start(bucket)).to.equal(startOf(grid, bucket));
      }
      const buckets = Array.from({ length: grid.count }, (_, i) => grid.count - 1 - i);
      const words = startWords(grid, buckets)?.words;
      const isExact = BigInt(grid.count) * (grid.buckets?.step ?? 0n) <= BigInt(Number.MAX_SAFE_INTEGER);
      expect(words !== undefined).to.equal(isExact);
      const found = words === undefined ? [] : [...new BigInt64Array(words.buffer)];
      expect(found).to.deep.equal(isExact ? buckets.map((bucket) => startOf(grid, bucket)) : []);
    });
  }
});
