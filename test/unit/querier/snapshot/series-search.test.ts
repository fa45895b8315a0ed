import { expect } from 'chai';

import { SeriesSearch } from '#services/querier/snapshot/series-search';
import { openEngine, type DuckDBConnection, type DuckDBInstance } from '#shared/duckdb/engine';
import { tempFolder } from '#test/support/temp-folder';

const TAG = {
  ...{ id: 1, name: '__name__', type: 'String', kind: 'tag', nullable: true },
  ...{ defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] },
};
/** One series for each of many names, two for `up`, and one whose name starts with a byte order mark. */
const SERIES =
  "(SELECT (i + 10)::UINTEGER AS sid, 'm' || i AS f1 FROM range(30000) r(i) " +
  "UNION ALL VALUES (7::UINTEGER, 'up'), (8::UINTEGER, '\uFEFFup'), (9::UINTEGER, 'up'))";

describe('SeriesSearch', () => {
  let cleanUp: () => void = () => undefined;
  let engine: DuckDBInstance;
  let connection: DuckDBConnection;

  before(async () => {
    const spillFolder = tempFolder((after) => (cleanUp = after));
    engine = await openEngine({ threads: 1, memoryBytes: 256 * 1024 * 1024, spillFolder });
    connection = await engine.connect();
  });

  after(() => {
    connection.closeSync();
    engine.closeSync();
    cleanUp();
  });

  const names = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `m${from + i}`);

  it('returns the first series of cached and other names, also when the cache is cleared', async () => {
    const search = new SeriesSearch([TAG]);
    const firstOf = (values: readonly string[]): Promise<number[]> => search.firstOf(connection, SERIES, 1, values);
    expect(await firstOf(['up', 'none', 'm3'])).to.deep.equal([7, 13]);
    await firstOf(names(0, 15_000));
    expect(await firstOf(['up', 'm20000'])).to.deep.equal([7, 20_010]);
    expect(await firstOf(['m20000', 'up', 'm20001'])).to.deep.equal([20_010, 7, 20_011]);
  });

  it('distinguishes texts that differ in a byte order mark', async () => {
    const search = new SeriesSearch([TAG]);
    const marked = await search.matching(connection, SERIES, new Map([[1, ['\uFEFFup']]]));
    expect(marked).to.deep.equal({ sids: [8], values: new Map([[1, ['\uFEFFup']]]) });
    expect(await search.firstOf(connection, SERIES, 1, ['\uFEFFup', 'up'])).to.deep.equal([8, 7]);
  });
});
