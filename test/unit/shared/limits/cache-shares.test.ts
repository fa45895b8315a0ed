import { expect } from 'chai';

import { cacheShares } from '#shared/limits/cache-shares';
import { budgetOf } from '#shared/limits/share';

const MEBIBYTE = 1024 * 1024;

describe('cacheShares', () => {
  it("adds up to the caches' share of the memory, whatever is configured", () => {
    for (const limitBytes of [128 * MEBIBYTE, 12_288 * MEBIBYTE, 131_072 * MEBIBYTE]) {
      for (const resultBytes of [0, 64 * MEBIBYTE, 65_536 * MEBIBYTE]) {
        const shares = Object.values<number>({ ...cacheShares({ limitBytes, cachePercent: 10 }, resultBytes) });
        expect(shares.reduce((sum, bytes) => sum + bytes, 0)).to.equal(budgetOf(limitBytes, 10));
        expect(Math.min(...shares)).to.be.at.least(0);
      }
    }
  });

  it('gives most of a large memory to samples', () => {
    const { samples, results } = cacheShares({ limitBytes: 12_288 * MEBIBYTE, cachePercent: 10 }, 64 * MEBIBYTE);
    expect(results).to.equal(64 * MEBIBYTE);
    expect(samples).to.be.above(400 * MEBIBYTE);
  });
});
