import { expect } from 'chai';

import { growthPercent } from '#shared/limits/heap-slack';

const MIB = 1024 * 1024;

describe('growthPercent', () => {
  it('allows a fixed growth, in steps', () => {
    expect(growthPercent(40 * MIB, 192 * MIB)).to.equal(480);
    expect(growthPercent(41 * MIB, 192 * MIB)).to.equal(460);
    expect(growthPercent(100 * MIB, 100 * MIB)).to.equal(100);
  });

  it('leaves a large heap or a small memory to the engine', () => {
    expect(growthPercent(384 * MIB, 192 * MIB)).to.equal(50);
    expect(growthPercent(400 * MIB, 192 * MIB)).to.equal(0);
    expect(growthPercent(40 * MIB, 15 * MIB)).to.equal(0);
  });
});
