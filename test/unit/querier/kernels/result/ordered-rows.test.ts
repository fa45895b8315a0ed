import { expect } from 'chai';

import type { ResultOrder } from '#services/querier/kernels/query';
import { orderedRows, type SortKey, type SortValue } from '#services/querier/kernels/result/ordered-rows';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

const TAGS: readonly SortValue[] = ['b', null, 'ä', 'a', 'B', '😀', '\uffee'];
const NUMBERS: readonly SortValue[] = [1.5, null, -0, 0, -7, NaN, Infinity, -Infinity];
const TIMES: readonly SortValue[] = [5n, null, -3n, 2n ** 62n, -(2n ** 62n)];

/** Compares as the engine does. */
function compare(a: SortValue, b: SortValue, { isDescending, nullsFirst }: ResultOrder): number {
  if (a === null || b === null) return a === b ? 0 : (a === null) === nullsFirst ? -1 : 1;
  const sign = isDescending ? -1 : 1;
  if (typeof a === 'string') return sign * Buffer.compare(Buffer.from(a), Buffer.from(String(b)));
  if (Number.isNaN(a) || Number.isNaN(b)) return sign * (Number(Number.isNaN(a)) - Number(Number.isNaN(b)));
  return a < b ? -sign : a > b ? sign : 0;
}

describe('orderedRows', () => {
  it('sorts as comparisons do, by values and numbers of values, up, down and with nulls at each end', () => {
    const random = new SeededRandom(3);
    const pick = (count: number): number => Math.floor(random.fraction() * count);
    for (let round = 0; round < 300; round++) {
      // Rows have any numbers, as cells of groups do.
      const rows = Array.from({ length: pick(60) }, () => pick(1000));
      const buckets = [1, 8, 1000][pick(3)];
      const columns: readonly { readonly key: SortKey; readonly of: (row: number) => SortValue }[] = [
        {
          key: { numberOf: (row) => row % TAGS.length, count: TAGS.length, valueAt: (tag) => TAGS[tag] },
          of: (row) => TAGS[row % TAGS.length],
        },
        { key: { numberOf: (row) => row % buckets, count: buckets }, of: (row) => row % buckets },
        ...[NUMBERS, TIMES, TAGS, [true, null, false]].map((values: readonly SortValue[]) => {
          const of = (row: number): SortValue => values[(row >> 3) % values.length];
          return { key: { value: of }, of };
        }),
      ];
      const order = Array.from({ length: 1 + pick(3) }, (): ResultOrder => {
        return { position: pick(columns.length), isDescending: pick(2) === 0, nullsFirst: pick(2) === 0 };
      });
      const cut = { offset: pick(5), limit: pick(2) === 0 ? Infinity : pick(60) };
      const expected = [...rows].sort((a, b) => {
        for (const each of order) {
          const { of } = columns[each.position];
          const difference = compare(of(a), of(b), each);
          if (difference !== 0) return difference;
        }
        return 0;
      });
      const found = orderedRows(rows, { order, ...cut }, ({ position }) => columns[position].key);
      expect(found).to.deep.equal(expected.slice(cut.offset, cut.offset + cut.limit));
    }
  });

  it('sorts a few rows of very many buckets', () => {
    const count = 2 ** 40;
    const rows = [2 ** 39, 5, 2 ** 40 - 1, 0];
    for (const isDescending of [false, true]) {
      const order = [
        { position: 0, isDescending, nullsFirst: false },
        { position: 0, isDescending, nullsFirst: false },
      ];
      const found = orderedRows(rows, { order, offset: 0, limit: Infinity }, () => ({ numberOf: (row) => row, count }));
      expect(found).to.deep.equal([...rows].sort((a, b) => (isDescending ? b - a : a - b)));
    }
  });
});
