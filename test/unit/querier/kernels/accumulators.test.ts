import { expect } from 'chai';

import { accumulatorOf } from '#services/querier/kernels/accumulators';
import { RowSpans } from '#services/querier/kernels/row-spans';

/** Cells 1 to 4 get rows; 0 and 5 have none. */
const VALUES = [1, 2, 4, NaN, -0, -7.5, 3, 1e300, 9];
const MASK = Uint8Array.from([1, 1, 1, 1, 1, 1, 1, 1, 0]);
const CELL_COUNT = 6;

describe('GroupAccumulator', () => {
  for (const name of ['count', 'min', 'max', 'sum', 'avg'] as const) {
    it(`reads ${name} of many cells as of each`, () => {
      const accumulator = accumulatorOf(name, CELL_COUNT);
      const spans = new RowSpans(5);
      for (const [from, to, cell] of [
        [0, 3, 1],
        [3, 4, 2],
        [4, 5, 3],
        [5, 8, 4],
        [8, 9, 5],
      ]) {
        spans.add(from, to, cell);
      }
      accumulator.add({ values: Float64Array.from(VALUES), base: 0 }, MASK, spans);
      const cells = [4, 0, 1, 2, 3, 5, 1];
      const { values, present } = accumulator.results(cells);
      const found = Array.from(values, (value, i) => (present[i] === 0 ? null : value));
      expect(found).to.deep.equal(cells.map((cell) => accumulator.result(cell)));
      expect(found[2]).to.equal({ count: 3, min: 1, max: 4, sum: 7, avg: 7 / 3 }[name]);
      expect([...values].filter((_, i) => present[i] === 0).every((value) => value === 0)).to.equal(true);
    });
  }
});
