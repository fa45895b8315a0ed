import { expect } from 'chai';

import { startOf, startsOf, type TimeGrid } from '#services/querier/kernels/time-grid';

describe('startsOf', () => {
  const grids: readonly TimeGrid[] = [
    { buckets: undefined, first: 0n, count: 1 },
    { buckets: { step: 60_000_000_000n, origin: 0n }, first: 24_193_440n, count: 720 },
    { buckets: { step: 7n, origin: -3n }, first: -1000n, count: 2000 },
    // Products that are no exact doubles.
    { buckets: { step: 2n ** 40n + 1n, origin: -5n }, first: -12_345n, count: 2 ** 14 },
    { buckets: { step: 2n ** 52n - 1n, origin: 1n }, first: 3n, count: 1000 },
  ];
  for (const grid of grids) {
    it(`returns what startOf does: ${grid.count} buckets of ${grid.buckets?.step ?? 'any length'}`, () => {
      const start = startsOf(grid);
      for (let bucket = 0; bucket < grid.count; bucket++) {
        expect(start(bucket)).to.equal(startOf(grid, bucket));
      }
    });
  }
});
