import { expect } from 'chai';

import { chooseWindows, floorDiv, WINDOWS_MAX } from '#services/ingester/flush/windows';

describe('chooseWindows', () => {
  it('cuts at multiples of the length, also before 1970', () => {
    expect(chooseWindows([0n, -1n, 3n], 10n)).to.deep.equal([
      { from: -10n, to: 0n },
      { from: 0n, to: 10n },
      { from: 30n, to: 40n },
    ]);
  });

  it('doubles windows until there are few enough, and covers every one', () => {
    const numbers = Array.from({ length: 3650 }, (_, day) => BigInt(day * 3 - 2000));
    const windows = chooseWindows(numbers, 10n);
    expect(windows.length).to.be.at.most(WINDOWS_MAX);
    for (const number of numbers) {
      const time = number * 10n;
      expect(windows.filter(({ from, to }) => time >= from && time < to)).to.have.length(1);
    }
  });
});

describe('floorDiv', () => {
  it('rounds down on both sides of zero', () => {
    expect([7n, -7n, -10n, 0n].map((value) => floorDiv(value, 5n))).to.deep.equal([1n, -2n, -2n, 0n]);
  });
});
