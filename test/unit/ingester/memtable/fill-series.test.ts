import { expect } from 'chai';

import { fillSeries, type SeriesRun } from '#services/ingester/memtable/fill-series';
import type { Table } from '#shared/contracts/gen/common';
import { ChunkWriter } from '#shared/duckdb/chunk-writer';
import { openEngine, type DuckDBConnection } from '#shared/duckdb/engine';
import { encodeTags } from '#shared/rowbatch/definitions';

const TAGS = 500;
const SERIES = 3000;

function tableOf(): Table {
  const columns = Array.from({ length: TAGS }, (_, i) => {
    return {
      id: i + 1,
      name: `t${i}`,
      type: 'String',
      kind: 'tag',
      nullable: true,
      defaultSql: '',
      comment: '',
      backfillSql: '',
      formerTypes: [],
      indexes: [],
    };
  });
  const ids = { tableId: 1, databaseId: 1, database: 'public', name: 'wide', schemaVersion: 1, createdMs: 0 };
  return { ...ids, columns, options: {}, regions: [], primaryKey: [], ttl: '' };
}

describe('fillSeries', () => {
  let connection: DuckDBConnection;

  before(async () => {
    const engine = await openEngine({ threads: 1, memoryBytes: 512 * 1024 * 1024, spillFolder: '' });
    connection = await engine.connect();
  });

  beforeEach(async () => {
    const columns = Array.from({ length: TAGS }, (_, i) => `t${i} VARCHAR`);
    await connection.run(`CREATE OR REPLACE TABLE wide (sid UINTEGER, tsid UBIGINT, ${columns.join(', ')})`);
  });

  after(() => connection.closeSync());

  /** @returns the greatest number of series between two yields. */
  async function fill(tagsOf: (sid: number) => number[], count = SERIES): Promise<number> {
    let seen = 0;
    let most = 0;
    const run: SeriesRun = {
      ...{ from: 0, to: count, tsidOf: (sid) => BigInt(sid) * 7n },
      tagsOf(sid) {
        most = Math.max(most, ++seen);
        return encodeTags(tagsOf(sid).map((tag) => ({ columnId: tag + 1, value: Buffer.from(`v${sid}`) })));
      },
    };
    const writer = await ChunkWriter.open(connection, 'wide');
    await fillSeries(writer, tableOf(), run, () => {
      seen = 0;
      return Promise.resolve();
    });
    writer.close();
    return most;
  }

  async function rows(sql: string): Promise<unknown[]> {
    return (await connection.runAndReadAll(sql)).getRowsJson();
  }

  it('appends series with few tags in whole blocks', async () => {
    expect(await fill((sid) => [0, (sid % 2) + 1])).to.equal(2048);
    expect(
      await rows('SELECT sid, tsid, t0, t1, t2, t3 FROM wide WHERE sid IN (0, 2048, 2999) ORDER BY sid'),
    ).to.deep.equal([
      [0, '0', 'v0', 'v0', null, null],
      [2048, '14336', 'v2048', 'v2048', null, null],
      [2999, '20993', 'v2999', null, 'v2999', null],
    ]);
    expect(await rows('SELECT count(*), count(t0), count(t1), count(t2) FROM wide')).to.deep.equal([
      ['3000', '3000', '1500', '1500'],
    ]);
  });

  it('yields after few series that together have many tags', async () => {
    expect(await fill((sid) => [sid % TAGS])).to.be.below(600);
    expect(await rows('SELECT sid, t5 FROM wide WHERE t5 IS NOT NULL ORDER BY sid LIMIT 3')).to.deep.equal([
      [5, 'v5'],
      [505, 'v505'],
      [1005, 'v1005'],
    ]);
  });

  it('yields after few series that have many tags each', async () => {
    const all = Array.from({ length: TAGS }, (_, tag) => tag);
    expect(await fill(() => all, 300)).to.be.below(100);
    expect(await rows('SELECT count(t0), count(t499), max(sid) FROM wide')).to.deep.equal([['300', '300', 299]]);
  });
});
