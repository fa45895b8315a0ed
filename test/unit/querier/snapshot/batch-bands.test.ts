import { expect } from 'chai';

import { BatchBands } from '#services/querier/snapshot/batch-bands';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

describe('BatchBands', () => {
  it('finds the batches that share a time, whatever their order was', () => {
    const random = new SeededRandom(5);
    for (let round = 0; round < 200; round++) {
      const bands = new BatchBands();
      const times = new Set<number>();
      for (let batch = 0; batch < 60; batch++) {
        const first = random.below(400);
        const last = first + random.below(6);
        const own = Array.from({ length: last - first + 1 }, (_, i) => first + i);
        const band = { first: BigInt(first), last: BigInt(last) };
        expect(bands.touch(band)).to.equal(own.some((time) => times.has(time)));
        bands.add(band);
        for (const time of own) times.add(time);
      }
    }
  });

  it('misses none of many thousands of batches', () => {
    const bands = new BatchBands();
    for (let i = 0n; i < 10_000n; i++) bands.add({ first: 10n * i, last: 10n * i + 4n });
    for (let i = 0n; i < 10_000n; i += 7n) {
      expect(bands.touch({ first: 10n * i + 3n, last: 10n * i + 8n })).to.equal(true);
    }
    expect(bands.touch({ first: 100_000n, last: 100_009n })).to.equal(false);
    expect(bands.touch({ first: -5n, last: -1n })).to.equal(false);
  });
});
