import { expect } from 'chai';

import { sortedRows } from '#services/querier/kernels/fresh/sorted-rows';
import { Slices } from '#shared/clock/slices';
import { systemClock } from '#shared/clock/clock';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

describe('sortedRows', () => {
  const sorted = async (sids: readonly number[], times: readonly number[]): Promise<number[]> => [
    ...(await sortedRows(Uint32Array.from(sids), Float64Array.from(times), new Slices(systemClock))),
  ];

  it('sorts by series and time, and keeps the order of equal rows', async () => {
    const random = new SeededRandom(1);
    for (let round = 0; round < 200; round++) {
      const count = random.below(200);
      const first = random.below(1000);
      const sids = Array.from({ length: count }, () => first + random.below(1 + (round % 7)));
      const times = Array.from({ length: count }, () => random.below(20) - 10);
      const expected = Array.from({ length: count }, (_, row) => row).sort(
        (a, b) => sids[a] - sids[b] || times[a] - times[b] || a - b,
      );
      expect(await sorted(sids, times)).to.deep.equal(expected);
    }
  });

  it('sorts rows in order, in reverse order, and none', async () => {
    expect(await sorted([], [])).to.deep.equal([]);
    expect(await sorted([5, 5, 5], [1, 2, 3])).to.deep.equal([0, 1, 2]);
    expect(await sorted([5, 5, 5, 2], [3, 2, 1, 9])).to.deep.equal([3, 2, 1, 0]);
  });
});
