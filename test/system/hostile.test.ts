import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac } from '#test/support/almanac';
import { hostileBody } from '#test/support/hostile-bodies';
import { fileCount, peakMemoryMib } from '#test/support/process-figures';
import { referenceLineproto } from '#test/support/reference-lineproto';
import { tempFolder } from '#test/support/temp-folder';

const BODIES = 2_000;
const AT_ONCE = 8;
const MEBIBYTE = 1024 * 1024;
/** The time of lines that name none, as far as the plain reader is concerned. */
const NO_TIME = 1_234_567_890_000_000_000n;
const SECRET = 'the secret text';

describe('hostile input', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  beforeEach(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(join(folder, 'data'));
  });

  afterEach(async () => {
    await almanac.stop();
    cleanUp();
  });

  async function expectHealthy(): Promise<void> {
    expect((await almanac.get('/health')).status).to.equal(200);
    expect((await almanac.sql('SELECT 1 + 1')).rows).to.deep.equal([[2]]);
    expect((await almanac.write('healthy v=1 1')).status).to.equal(204);
  }

  async function tables(): Promise<string[]> {
    return (await almanac.sql('SHOW TABLES')).rows.map(([name]) => String(name)).sort();
  }

  async function countOf(table: string): Promise<number> {
    const name = `"${table.replaceAll('"', '""')}"`;
    const { status, text, rows } = await almanac.sql(`SELECT count(*) FROM ${name}`);
    expect(status, text).to.equal(200);
    return Number(rows[0][0]);
  }

  it(`of ${BODIES} bodies stores exactly the rows of their valid lines`, async () => {
    const random = new SeededRandom(2026);
    const expected = new Map<string, Set<string>>();
    const bodies = Array.from({ length: BODIES }, (_, i) => hostileBody(random, i));
    let next = 0;
    const send = async (): Promise<void> => {
      while (next < bodies.length) {
        const { bytes, text, route, precision } = bodies[next++];
        const reference = text === undefined ? undefined : referenceLineproto(text, precision, NO_TIME);
        // How many rows those are depends on the clock.
        if (reference?.rows.some((row) => row.timeNs === NO_TIME) === true) continue;
        const answer = await almanac.post(`${route}?precision=${precision}`, bytes);
        expect([204, 400, 422], `${answer.text} to ${JSON.stringify(text ?? bytes.toString('latin1'))}`).to.include(
          answer.status,
        );
        if (reference === undefined) continue;
        // The second version takes all lines or none, as far as the grammar goes.
        if (route.includes('v2') && reference.rejected.length > 0) {
          expect(answer.status, text).to.equal(400);
          continue;
        }
        expect(answer.status === 204, `${answer.text} to ${text}`).to.equal(
          reference.rejected.length === 0 && reference.conflictCount === 0,
        );
        for (const row of reference.rows) {
          const rows = expected.get(row.table) ?? new Set();
          rows.add(JSON.stringify([Object.entries(row.tags).sort(), String(row.timeNs)]));
          expected.set(row.table, rows);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, send));
    expect(expected.size).to.be.greaterThan(30);
    expect(await tables()).to.deep.equal([...expected.keys()].sort());
    for (const [table, rows] of expected) expect(await countOf(table), table).to.equal(rows.size);
    await expectHealthy();
  });

  it('of one line of 100 MB is refused, and memory stays bounded', async () => {
    const line = Buffer.alloc(100 * MEBIBYTE, 0x78);
    expect((await almanac.write(line)).status).to.equal(413);
    expect((await almanac.write(line.subarray(0, 60 * MEBIBYTE))).status).to.equal(400);
    expect(await tables()).to.deep.equal([]);
    expect(peakMemoryMib(almanac.pid)).to.be.lessThan(600);
    await expectHealthy();
  });

  it('refuses gzip that expands too far, is truncated or is invalid', async () => {
    const gzip = { 'content-encoding': 'gzip' };
    const whole = gzipSync('m v=1 1\nm v=2 2\n');
    const bomb = gzipSync(Buffer.alloc(300 * MEBIBYTE, 0x61));
    for (const path of ['/v1/lineproto/write', '/v1/lineproto/api/v2/write']) {
      const status = async (body: Buffer<ArrayBuffer>): Promise<number> =>
        (await almanac.post(path, body, gzip)).status;
      expect(await Promise.all([bomb, bomb, bomb, bomb].map(status))).to.deep.equal([413, 413, 413, 413]);
      expect(await status(gzipSync(bomb))).to.equal(400);
      for (let length = 1; length < whole.length; length += 3) {
        expect(await status(whole.subarray(0, length)), `${length} bytes`).to.equal(400);
      }
      expect(await status(Buffer.from('m v=1 1\n'))).to.equal(400);
    }
    expect(await tables()).to.deep.equal([]);
    expect(peakMemoryMib(almanac.pid)).to.be.lessThan(700);
    await expectHealthy();
  });

  it('refuses a body with invalid UTF-8 as a whole', async () => {
    for (const bad of [[0xff], [0xc3, 0x28], [0xe2, 0x82], [0xf0, 0x9f, 0x9c], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]) {
      for (const [before, after] of [
        ['good v=1 1\nm,h=', ' v=1 1\n'],
        ['good v=1 1\n', ' v=1 1\n'],
        ['good v=1 1\nm s="', '" 1\n'],
        ['good v=1 1\nm ', '=1 1\n'],
      ]) {
        const body = Buffer.concat([Buffer.from(before), Buffer.from(bad), Buffer.from(after)]);
        expect((await almanac.write(body)).status, body.toString('hex')).to.equal(400);
      }
    }
    expect(await tables()).to.deep.equal([]);
    await expectHealthy();
  });

  it('calls mistakes in values mistakes of the client', async () => {
    for (const statement of [
      'SELECT 1 / 0',
      "SELECT 'x'::BIGINT",
      'SELECT 9223372036854775807 + 1',
      "SELECT DATE '2023-02-30'",
    ]) {
      const { status, text } = await almanac.sql(statement);
      expect(status, `${statement}: ${text}`).to.equal(400);
    }
  });

  it('neither reads nor writes a file by SQL', async () => {
    await almanac.write('m v=1 1');
    await almanac.sql("ADMIN flush_table('m')");
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret.csv'), `a,b\n1,${SECRET}\n`);
    const filesBefore = fileCount(folder);
    for (const statement of fileStatements(outside, join(folder, 'data'))) {
      const { status, text } = await almanac.sql(statement);
      expect(status, `${statement}: ${text}`).to.be.within(400, 499);
      const { code, error } = JSON.parse(text) as { code: number; error: string };
      expect(code, statement).not.to.be.oneOf([1000, 1002, 1003]);
      expect(error, statement).not.to.be.oneOf(['', 'internal error']);
      expect(text, statement).not.to.contain(SECRET);
    }
    expect(readdirSync(outside)).to.deep.equal(['secret.csv']);
    expect(existsSync(join(folder, 'data', 'out.csv'))).to.equal(false);
    expect(fileCount(folder)).to.equal(filesBefore);
    await expectHealthy();
  });
});

/** Ways to reach files, settings and extensions of an engine. */
function fileStatements(outside: string, data: string): string[] {
  const secret = `${outside}/secret.csv`;
  return [
    `SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM READ_TEXT('${secret}')`,
    `SELECT * FROM read_blob('${secret}')`,
    `SELECT * FROM read_csv('${secret}')`,
    `SELECT * FROM read_csv_auto('${secret}')`,
    `SELECT * FROM sniff_csv('${secret}')`,
    `SELECT * FROM read_json('${secret}')`,
    `SELECT * FROM read_ndjson_objects('${secret}')`,
    `SELECT * FROM read_parquet('${data}/store/1/1/1/*.parquet')`,
    `SELECT * FROM parquet_scan('${data}/store/1/1/1/*.parquet')`,
    `SELECT * FROM parquet_metadata('${data}/store/1/1/1/*.parquet')`,
    `SELECT * FROM parquet_schema('${data}/store/1/1/1/*.parquet')`,
    `SELECT * FROM glob('${outside}/*')`,
    `SELECT * FROM '${secret}'`,
    `SELECT * FROM "${secret}"`,
    `SELECT * FROM '${data}/store/../../outside/secret.csv'`,
    `SELECT * FROM "${data}/store/1/1/1/../../../../../outside/secret.csv"`,
    `FROM '${secret}'`,
    `TABLE '${secret}'`,
    `SELECT (SELECT content FROM read_text('${secret}'))`,
    `WITH x AS (SELECT * FROM read_text('${secret}')) SELECT * FROM x`,
    `WITH x AS MATERIALIZED (FROM read_csv('${secret}')) SELECT * FROM x`,
    `SELECT * FROM m WHERE EXISTS (SELECT * FROM glob('${outside}/*'))`,
    `SELECT * FROM m JOIN read_csv('${secret}') AS r ON true`,
    `SELECT * FROM m, LATERAL (SELECT * FROM read_text('${secret}'))`,
    `INSERT INTO m SELECT 1, 2 FROM read_csv('${secret}')`,
    `EXPLAIN SELECT * FROM read_text('${secret}')`,
    `EXPLAIN ANALYZE SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM query('SELECT * FROM read_text(''${secret}'')')`,
    `SELECT * FROM query_table('${secret}')`,
    `SELECT getenv('HOME')`,
    `SELECT * FROM m /* x */ UNION ALL SELECT 1, content FROM/**/read_text('${secret}')`,
    `COPY m TO '${outside}/out.csv'`,
    `COPY (SELECT * FROM m) TO '${outside}/out.parquet' (FORMAT parquet)`,
    `COPY m FROM '${secret}'`,
    `copy/**/m to '${data}/out.csv'`,
    `EXPORT DATABASE '${outside}/out'`,
    `IMPORT DATABASE '${outside}'`,
    `ATTACH '${outside}/out.db' AS other`,
    `ATTACH '${data}/metadata/almanac.db' AS other (TYPE sqlite)`,
    `DETACH memory`,
    `INSTALL httpfs`,
    `LOAD httpfs`,
    `LOAD '${outside}/x.duckdb_extension'`,
    `PRAGMA database_list`,
    `PRAGMA enable_profiling`,
    `SET enable_external_access = true`,
    `SET GLOBAL enable_external_access = true`,
    `SET allowed_directories = ['/']`,
    `RESET enable_external_access`,
    `SET temp_directory = '${outside}'`,
    `SET log_query_path = '${outside}/out.log'`,
    `CALL pragma_database_size()`,
    `CREATE SECRET s (TYPE s3)`,
    `CREATE VIEW v AS SELECT * FROM read_text('${secret}')`,
    `CREATE MACRO f() AS TABLE SELECT * FROM read_text('${secret}')`,
    `CREATE TABLE t AS SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM duckdb_settings()`,
    `SELECT current_setting('temp_directory')`,
    `CHECKPOINT`,
    `VACUUM`,
    `SELECT * FROM read_text(['${secret}'])`,
    `PREPARE p AS SELECT * FROM read_text('${secret}')`,
    `EXECUTE p`,
    `SUMMARIZE SELECT * FROM read_csv('${secret}')`,
    `DESCRIBE SELECT * FROM read_csv('${secret}')`,
    `PIVOT '${secret}' ON a`,
    `USE '${outside}/x.db'`,
  ];
}
