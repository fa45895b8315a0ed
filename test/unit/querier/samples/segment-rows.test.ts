import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';

import { decodeRows } from '#services/querier/samples/segment-rows';
import type { SegmentQuery } from '#services/querier/samples/segment-query';

const QUERY: SegmentQuery = { startAt: undefined, histogramAt: undefined, sql: () => '' };

describe('rows of a segment', () => {
  it('make one piece for each series, in whatever order the engine gives them', async () => {
    const instance = await DuckDBInstance.create();
    try {
      const connection = await instance.connect();
      const rows = ['(7, 30, 3)', '(7, 40, 4)', '(8, 10, NULL)', '(7, 10, 1)', '(7, 20, 2)', '(8, 20, 5)', '(9, 1, 6)'];
      const result = await connection.run(
        `SELECT s::INTEGER, t::DOUBLE, v::DOUBLE FROM (VALUES ${rows.join(', ')}) AS rows(s, t, v)`,
      );
      const { bySid } = decodeRows(await result.fetchAllChunks(), QUERY, 3);
      const read = Array.from(bySid, ([sid, { times, values, missing, isAscending }]) => {
        return [sid, [...times], [...values], missing === undefined ? [] : [...missing], isAscending];
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
