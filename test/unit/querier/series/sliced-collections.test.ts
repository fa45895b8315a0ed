import { expect } from 'chai';

import { sortedInSlices } from '#services/querier/series/sliced-collections';
import { Slices } from '#shared/clock/slices';
import { HurriedClock } from '#test/support/hurried-clock';

describe('sortedInSlices', () => {
  it('returns the result of a plain sort, and yields in between', async () => {
    const clock = new HurriedClock();
    let yields = 0;
    clock.onYield = () => yields++;
    const numbers = Array.from({ length: 50_000 }, (_, i) => Math.imul(i, 0x9e3779b1) % 1000);
    const order = (one: number, other: number): number => one - other;
    const expected = [...numbers].sort(order);
    expect(await sortedInSlices(numbers, order, new Slices(clock))).to.deep.equal(expected);
    expect(yields).to.be.at.least(12);
  });
});
