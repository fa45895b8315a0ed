import { expect } from 'chai';

import { DoubleBlocks, FlagBlocks } from '#services/querier/series/blocks';

const BLOCK = 65_536;

describe('Blocks', () => {
  it('keeps values across block boundaries, and 0 elsewhere', () => {
    const blocks = new DoubleBlocks();
    blocks.extend(3 * BLOCK + 1);
    const values = Float64Array.from({ length: 2 * BLOCK }, (_, i) => i + 0.5);
    blocks.setAll(values, BLOCK - 2);
    blocks.set(3 * BLOCK, 7);
    const at = [0, BLOCK - 3, BLOCK - 2, BLOCK, 3 * BLOCK - 3, 3 * BLOCK - 2, 3 * BLOCK];
    expect(at.map((index) => blocks.get(index))).to.deep.equal([0, 0, 0.5, 2.5, 2 * BLOCK - 0.5, 0, 7]);
  });

  it('keeps values while the first block grows', () => {
    const blocks = new DoubleBlocks();
    for (let i = 0; i < 2 * BLOCK; i++) {
      blocks.extend(i + 1);
      blocks.set(i, i);
    }
    expect([0, 15, 16, 100, BLOCK - 1, BLOCK, 2 * BLOCK - 1].every((at) => blocks.get(at) === at)).to.equal(true);
  });

  it('fills a range over several blocks', () => {
    const flags = new FlagBlocks();
    flags.extend(2 * BLOCK);
    flags.fill(1, BLOCK - 1, BLOCK + 2);
    expect([-2, -1, 0, 1, 2].map((d) => flags.get(BLOCK + d))).to.deep.equal([0, 1, 1, 1, 0]);
    flags.extend(10);
    expect(flags.length).to.equal(2 * BLOCK);
  });
});
