import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';

import { decodeRows } from '#services/querier/samples/segment-rows';
import type { SegmentQuery } from '#services/querier/samples/segment-query';
import { Slices } from '#shared/clock/slices';
import { HurriedClock } from '#test/support/hurried-clock';

const QUERY: SegmentQuery = { startAt: undefined, histogramAt: undefined, opAt: undefined, sql: () => '' };

describe('decodeRows', () => {
  it('returns one slice per series and file, whatever the order of the rows', async () => {
    const clock = new HurriedClock();
    const instance = await DuckDBInstance.create();
    try {
      const connection = await instance.connect();
      const rows = [
        ...['(1, 9, 1, 6)', '(0, 7, 30, 3)', '(0, 7, 40, 4)', '(0, 8, 10, NULL)', '(0, 7, 10, 1)', '(0, 7, 20, 2)'],
        ...['(1, 7, 30, 8)', '(0, 8, 20, 5)', '(0, 9, 1, 6)', '(1, 9, 2, 7)'],
      ];
      const result = await connection.run(
        `SELECT f::INTEGER, s::INTEGER, t::DOUBLE, v::DOUBLE FROM (VALUES ${rows.join(', ')}) AS rows(f, s, t, v)`,
      );
      const files = await decodeRows(result, QUERY, 2, new Slices(clock, { workPerLook: 1 }));
      expect(clock.yields).to.be.greaterThan(5);
      expect(Array.from(files[1], ([sid, { values }]) => [sid, ...values])).to.have.deep.members([
        [7, 8],
        [9, 6, 7],
      ]);
      const read = Array.from(files[0], ([sid, { times, values, missing, isAscending }]) => {
        // The number of a row without a value is undefined.
        const present = Array.from(values, (value, i) => (missing?.[i] === 1 ? 0 : value));
        return [sid, [...times], present, missing === undefined ? [] : [...missing], isAscending];
      });
      expect(read).to.deep.equal([
        [7, [10, 20, 30, 40], [1, 2, 3, 4], [0, 0, 0, 0], true],
        [8, [10, 20], [0, 5], [1, 0], true],
        [9, [1], [6], [0], true],
      ]);
    } finally {
      instance.closeSync();
    }
  });
});
