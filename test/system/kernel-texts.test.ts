import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';

import { decompress, isLoaded } from '@foxglove/wasm-zstd';
import { CompressionType, compressionRegistry, tableFromIPC } from 'apache-arrow';
import { expect } from 'chai';
import { decompressFrameSync } from 'lz4-napi';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { compareOnly, RUNS_OF_COMPARISON } from '#test/support/kernel-comparison';
import { tempFolder } from '#test/support/temp-folder';

const ENVIRONMENT = {
  ...MERGES_BY_HAND.environment,
  ALMANAC_STANDALONE__QUERY__THREAD_MIN_VALUES: '1',
  ALMANAC_STANDALONE__QUERY__MAX_CONCURRENT: '8',
};
const ROWS = 50_000;
const ALL = 'SELECT * FROM big';
const LARGE = 'SELECT r AS a, r AS b, r AS c, r AS d, r, ts FROM big';
/** JSON writes them in another way. */
const TAGS = ['NULL', `'${'x'.repeat(300)}é"\\東'`, "'x'"];

/** Of one buffer of an Arrow stream, in bytes. */
const UNCOMPRESSED_MAX = 1 << 22;

/** JSON has no big integers. */
function asJson(cell: unknown): unknown {
  return typeof cell === 'bigint' ? Number(cell) : cell;
}

describe('rows that threads write', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  /** Rows of the table. */
  let count = 0;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder, { environment: ENVIRONMENT });
    await almanac.rows(
      'CREATE TABLE big (h STRING, r STRING, v DOUBLE, n BIGINT, b BOOLEAN, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (h, r))' +
        " PARTITION ON COLUMNS (h) (h < 'h5', h >= 'h5')",
    );
    await insert(0, ROWS);
    count = ROWS;
    await almanac.flush('big');
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function insert(from: number, to: number): Promise<void> {
    const tag = `CASE i % 3 WHEN 0 THEN ${TAGS[0]} WHEN 1 THEN ${TAGS[1]} ELSE ${TAGS[2]} END`;
    const value = 'CASE WHEN i % 7 = 0 THEN NULL ELSE i / 7 END';
    await almanac.rows(
      `INSERT INTO big SELECT 'h' || (i % 10), ${tag}, ${value}, i * 8000000000, i % 2 = 0, i * 1000` +
        ` FROM range(${from}, ${to}) AS s(i)`,
    );
  }

  async function figure(pattern: RegExp): Promise<number> {
    return Number(pattern.exec((await almanac.get('/metrics')).text)?.[1] ?? 0);
  }

  const scans = (): Promise<number> => figure(/almanac_querier_kernel_thread_scans_total (\d+)/);
  const engineRuns = (): Promise<number> => figure(/almanac_querier_query_paths_total\{path="engine"\} (\d+)/);
  const allRows = async (): Promise<unknown[][]> => (await almanac.sql(ALL)).rows;
  const compare = (sql: string): Promise<void> => compareOnly({ sql, isOrdered: false, inexact: new Set() }, almanac);

  /** Requests more than sockets hold, and reads nothing. */
  function unread(): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      request(`${almanac.url}/v1/sql?sql=${encodeURIComponent(LARGE)}`, { agent: false }, resolve)
        .on('error', reject)
        .end();
    });
  }

  it('are those that the engine returns, in the same order each time', async () => {
    const before = await scans();
    await compare(ALL);
    await compare("SELECT ts, n, h FROM big WHERE r LIKE '%東' AND v > 100.5");
    await compare(`${ALL} WHERE v < 0`);
    // As CSV and as JSON.
    expect(await scans()).to.equal(before + 3 * RUNS_OF_COMPARISON);
    const first = await allRows();
    expect(first).to.have.length(count);
    expect(await allRows()).to.deep.equal(first);
    expect(await scans()).to.equal(before + 3 * RUNS_OF_COMPARISON + 2);
  });

  it('come with late, deleted and unflushed ones', async () => {
    await insert(20_000, 22_000);
    await almanac.rows('DELETE FROM big WHERE ts >= 10000 AND ts < 20000');
    await almanac.flush('big');
    await insert(ROWS, ROWS + 500);
    await insert(2_000, 2_010);
    count += 500 - 10;
    const before = await scans();
    await compare(ALL);
    expect(await allRows()).to.have.length(count);
    expect(await scans()).to.equal(before + RUNS_OF_COMPARISON + 1);
  });

  it('are the same as Arrow, compressed or not', async () => {
    await isLoaded;
    const { ZSTD, LZ4_FRAME } = CompressionType;
    compressionRegistry.set(ZSTD, { decode: (bytes) => decompress(bytes, UNCOMPRESSED_MAX) });
    compressionRegistry.set(LZ4_FRAME, { decode: (bytes) => decompressFrameSync(Buffer.from(bytes)) });
    const before = await scans();
    for (const sql of [ALL, 'SELECT ts, ts AS again, v, ts AS third FROM big']) {
      const { rows } = await almanac.sql(sql);
      for (const format of ['arrow', 'arrow:zstd', 'arrow:lz4']) {
        const reply = await fetch(`${almanac.url}/v1/sql`, {
          method: 'POST',
          body: new URLSearchParams({ sql, format }),
        });
        const table = tableFromIPC(new Uint8Array(await reply.arrayBuffer()));
        const columns = table.schema.fields.map((_, i) => [...(table.getChildAt(i) ?? [])] as unknown[]);
        const found = rows.map((_, i) => columns.map((column) => column[i]).map(asJson));
        expect(table.numRows).to.equal(rows.length);
        expect(found, `${format} ${sql}`).to.deep.equal(rows);
      }
    }
    expect(await scans()).to.equal(before + 2 * 4);
  });

  it('come in blocks of bounded size if long texts follow short ones', async () => {
    const name = "CASE WHEN i < 20000 THEN 'a' ELSE 'b' || repeat('x', 20000) END";
    await almanac.rows('CREATE TABLE names (h STRING, v DOUBLE, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (h))');
    await almanac.rows(`INSERT INTO names SELECT ${name}, i, i * 1000 FROM range(0, 20600) AS s(i)`);
    await almanac.flush('names');
    const before = await scans();
    const reply = await fetch(`${almanac.url}/v1/sql`, {
      method: 'POST',
      body: new URLSearchParams({ sql: 'SELECT h, v FROM names', format: 'arrow' }),
    });
    const table = tableFromIPC(new Uint8Array(await reply.arrayBuffer()));
    expect(await scans()).to.equal(before + 1);
    expect(table.numRows).to.equal(20_600);
    expect(Math.max(...table.batches.map(({ data }) => data.byteLength))).to.be.below(UNCOMPRESSED_MAX);
    await compare('SELECT h, v FROM names WHERE ts >= 19990000');
  });

  it('wait for a slow client, while others use the threads', async () => {
    // As many as may wait.
    const replies = await Promise.all([unread(), unread(), unread(), unread()]);
    const before = await scans();
    expect(await almanac.rows('SELECT h, count(n) FROM big GROUP BY h')).to.have.length(10);
    expect(await scans()).to.equal(before + 1);
    const runsBefore = await engineRuns();
    expect(await allRows()).to.have.length(count);
    expect(await engineRuns()).to.equal(runsBefore + 1);
    for (const reply of replies) reply.destroy();
    await eventually(async () => {
      const { queries } = JSON.parse((await almanac.get('/v1/queries')).text) as { queries: readonly unknown[] };
      return queries.length === 0;
    });
    expect(await allRows()).to.have.length(count);
    expect(await scans()).to.equal(before + 2);
  });

  it('are left to the engine if a later segment has integers beyond 2^53', async () => {
    await almanac.rows(`INSERT INTO big VALUES ('h1', 'x', 1, ${2n ** 60n + 1n}, true, ${10 * ROWS}000)`);
    await almanac.flush('big');
    const before = await scans();
    await compare(ALL);
    expect(await scans()).to.equal(before);
    await almanac.rows(`DELETE FROM big WHERE ts = ${10 * ROWS}000`);
    await almanac.rows("ADMIN flush_table('big')");
    await almanac.rows("ADMIN compact_table('big')");
    expect(await allRows()).to.have.length(count);
  });

  it('are not read from a damaged segment', async () => {
    const folder = join(almanac.folder, 'store');
    const filesIn = (): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const old = new Set(filesIn());
    await insert(2 * ROWS, 3 * ROWS);
    await almanac.flush('big');
    // Columns of the newest segments; the footer is whole.
    for (const name of filesIn().filter((it) => it.endsWith('.parquet') && !old.has(it))) {
      const bytes = readFileSync(join(folder, name));
      writeFileSync(join(folder, name), bytes.fill(0xff, 4, bytes.length >> 1));
    }
    const { status, text } = await almanac.sql(ALL);
    expect(status).to.equal(503);
    expect(text).to.match(/is damaged: its checksum does not match/);
    const newest = `ts >= ${ROWS - 10}000 AND ts < ${ROWS}000`;
    expect(await almanac.rows(`SELECT count(n) FROM big WHERE ${newest}`)).to.deep.equal([[10]]);
  });
});
