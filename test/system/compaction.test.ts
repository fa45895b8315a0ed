import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND, pollUntil } from '#test/support/almanac';
import { isSeriesFile, parquetPaths } from '#test/support/parquet-table';
import { segmentCount } from '#test/support/segment-count';
import { tempFolder } from '#test/support/temp-folder';

const DAY_NS = 86_400_000_000_000n;

describe('merging of segments', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  beforeEach(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder, MERGES_BY_HAND);
  });

  afterEach(async () => {
    await almanac.stop();
    cleanUp();
  });

  it('keeps every value of every type, bit by bit', async () => {
    await almanac.rows(
      `CREATE TABLE m (h STRING PRIMARY KEY, d DOUBLE, f FLOAT, l BIGINT, u BIGINT UNSIGNED, b BOOLEAN, s STRING,
       x BINARY, j JSON, t TIMESTAMP(3), day DATE, i SMALLINT, ts TIMESTAMP(6) TIME INDEX)`,
    );
    const rows = [
      `('a', 'NaN', 1.5, -9223372036854775808, 18446744073709551615, true, '', '\\x00\\xFF'::BLOB, '{"a":[1]}', 1, '1970-01-02', -32768, 1)`,
      `('a', -0.0, -0.0, 9223372036854775807, 0, false, 'Größe 東京 🜚', ''::BLOB, 'null', -1, '0001-01-01', 32767, 2)`,
      `('b', 'Infinity', 'NaN', 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3)`,
      `(NULL, 5e-324, 1e-45, NULL, NULL, true, 'x', 'y'::BLOB, '1e400', 253402300799999, '9999-12-31', 0, 4)`,
      `('a', '-Infinity', NULL, 1, 2, NULL, 'second version', NULL, NULL, NULL, NULL, NULL, 1)`,
    ];
    for (const row of rows) {
      await almanac.rows(`INSERT INTO m VALUES ${row}`);
      await almanac.flush('m');
    }
    const exact = 'SELECT *, hex(x), 1 / d, 1 / f FROM m ORDER BY ts, h';
    const before = await almanac.rows(exact);
    expect(segmentCount(folder)).to.equal(rows.length);
    await almanac.rows("ADMIN compact_table('m')");
    expect(segmentCount(folder)).to.equal(1);
    expect(await almanac.rows(exact)).to.deep.equal(before);
    await almanac.kill();
    almanac = await Almanac.start(folder, MERGES_BY_HAND);
    expect(await almanac.rows(exact)).to.deep.equal(before);
  });

  it('reads the last version of each row from many files, also if columns have names that the engine uses', async () => {
    const names = ['v', 'file_index', 'FILE_ROW_NUMBER', 'filename', 'version', 'sid'];
    const columns = names.map((name) => `"${name}" BIGINT`).join(', ');
    await almanac.rows(`CREATE TABLE named (h STRING PRIMARY KEY, ${columns}, ts TIMESTAMP TIME INDEX)`);
    await almanac.rows('CREATE TABLE plain (h STRING PRIMARY KEY, v BIGINT, ts TIMESTAMP TIME INDEX)');
    const rounds = 7;
    for (let round = 0; round < rounds; round++) {
      const values = names.map((_, i) => round * 100 + i).join(', ');
      // The first row has a version in each file, the second one in every other file, the third one in one file.
      const rows = [1, ...(round % 2 === 0 ? [2] : []), 10 + round];
      await almanac.rows(`INSERT INTO named VALUES ${rows.map((ts) => `('a', ${values}, ${ts})`).join(', ')}`);
      await almanac.rows(`INSERT INTO plain VALUES ${rows.map((ts) => `('a', ${round}, ${ts})`).join(', ')}`);
      if (round === 3) await almanac.rows('DELETE FROM plain WHERE ts = 12');
      for (const table of ['named', 'plain']) await almanac.flush(table);
    }
    const own = Array.from({ length: rounds }, (_, round) => [10 + round, round]);
    const expected = [[1, rounds - 1], [2, rounds - 1], ...own];
    const quoted = names.map((name) => `"${name}"`).join(', ');
    for (const when of ['unmerged', 'merged']) {
      expect(await almanac.rows(`SELECT ts, ${quoted} FROM named ORDER BY ts`), when).to.deep.equal(
        expected.map(([ts, round]) => [ts, ...names.map((_, i) => round * 100 + i)]),
      );
      expect(await almanac.rows("SELECT ts, v FROM plain WHERE h || 'x' = 'ax' ORDER BY ts"), when).to.deep.equal(
        expected.filter(([ts]) => ts !== 12),
      );
      for (const table of ['named', 'plain']) await almanac.rows(`ADMIN compact_table('${table}')`);
    }
  });

  it('reads columns that are named like parts of the path of its files', async () => {
    await almanac.stop();
    const odd = join(folder, 'env=7/sid=7/time=7/name=7');
    mkdirSync(odd, { recursive: true });
    almanac = await Almanac.start(odd, MERGES_BY_HAND);
    for (const value of [1, 2, 3]) {
      await almanac.written(`m,h=a env=${value},v=${value} ${value}000000000`);
      await almanac.flush('m');
    }
    const sql = 'SELECT env, v FROM (SELECT * FROM m) AS q ORDER BY v';
    const promql = '/v1/prometheus/api/v1/query?time=5&query=last_over_time(m{__field__="env"}[10s])';
    for (const when of ['unmerged', 'merged']) {
      expect(await almanac.rows(sql), when).to.deep.equal([1, 2, 3].map((value) => [value, value]));
      expect((await almanac.get(promql)).text, when).to.contain('"value":[5,"3"]');
      await almanac.rows("ADMIN compact_table('m')");
    }
    await almanac.kill();
    almanac = await Almanac.start(odd, MERGES_BY_HAND);
    expect(await almanac.rows('SELECT h, env, v FROM (SELECT * FROM m) AS q ORDER BY v')).to.deep.equal(
      [1, 2, 3].map((value) => ['a', value, value]),
    );
  });

  it('reads files older than a column, and merges by window', async () => {
    for (let i = 0; i < 4; i++) {
      const time = BigInt(i % 2) * DAY_NS + BigInt(i);
      await almanac.written(`m,h=a f${i}=${i} ${time}\nm,h=b,t${i}=x f${i}=${i}i,g=1 ${time}`.replace(/f\d=\d+i,/, ''));
      await almanac.flush('m');
    }
    const before = await almanac.rows('SELECT * FROM m ORDER BY almanac_timestamp, h');
    expect(before).to.have.length(8);
    await almanac.rows("ADMIN compact_table('m')");
    expect(segmentCount(folder)).to.equal(2);
    expect(await almanac.rows('SELECT * FROM m ORDER BY almanac_timestamp, h')).to.deep.equal(before);
  });

  it('runs while rows are written, read, flushed, truncated and merged', async () => {
    let written = 0;
    const writing = async (): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        await almanac.written(
          Array.from({ length: 50 }, (_, row) => `m,h=${row % 7} v=${i}i ${i * 50 + row}`).join('\n'),
        );
        written += 50;
      }
    };
    const flushing = async (): Promise<void> => {
      while (written < 2000) await almanac.flush('m');
    };
    const merging = async (): Promise<void> => {
      while (written < 2000) await almanac.rows("ADMIN compact_table('m')");
    };
    const reading = async (): Promise<void> => {
      while (written < 2000) {
        const before = written;
        const [[count]] = await almanac.rows('SELECT count(*) FROM m');
        expect(Number(count)).to.be.within(before, 2000);
      }
    };
    await almanac.written('m,h=0 v=0i 0');
    await Promise.all([writing(), flushing(), merging(), reading()]);
    expect(await almanac.rows('SELECT count(*), count(DISTINCT almanac_timestamp) FROM m')).to.deep.equal([
      [2000, 2000],
    ]);
    await Promise.all([
      almanac.rows("ADMIN compact_table('m')"),
      almanac.rows('TRUNCATE TABLE m'),
      almanac.rows("ADMIN compact_table('m')"),
    ]);
    expect(await almanac.rows('SELECT count(*) FROM m')).to.deep.equal([[0]]);
  });

  it('skips a damaged segment, reports it, and reads the intact ones', async () => {
    for (let day = 0; day < 2; day++) {
      for (let i = 0; i < 2; i++) {
        await almanac.written(`m,h=a v=${i} ${BigInt(day) * DAY_NS + BigInt(i)}`);
        await almanac.flush('m');
      }
    }
    await almanac.stop();
    const [damaged] = parquetPaths(folder).filter((path) => !isSeriesFile(path));
    const bytes = readFileSync(damaged);
    bytes[Math.floor(bytes.length / 3)] ^= 1;
    writeFileSync(damaged, bytes);
    almanac = await Almanac.start(folder, MERGES_BY_HAND);
    const { status, text } = await almanac.sql("ADMIN compact_table('m')");
    expect(status, text).to.equal(503);
    expect(text).to.contain('is damaged');
    const rest = `SELECT count(*) FROM m WHERE almanac_timestamp >= ${DAY_NS}`;
    expect(await almanac.rows(rest)).to.deep.equal([[2]]);
    expect((await almanac.sql('SELECT count(*) FROM m')).status).to.equal(503);
  });

  it('starts in the background', async () => {
    await almanac.stop();
    almanac = await Almanac.start(folder);
    for (let i = 0; i < 8; i++) {
      await almanac.written(`m,h=a v=${i} ${i}`);
      await almanac.flush('m');
    }
    const isMerged = await pollUntil(performance.now() + 60_000, () => Promise.resolve(segmentCount(folder) < 5));
    expect(isMerged).to.equal(true);
    expect(await almanac.rows('SELECT sum(v) FROM m')).to.deep.equal([[28]]);
    const { text } = await almanac.get('/metrics');
    expect(text).to.match(/almanac_ingester_compactions_total [1-9]/);
    expect(text).to.match(/almanac_ingester_compaction_failures_total 0/);
  });

  it('explains what is wrong with a table name', async () => {
    for (const wrong of ["ADMIN compact_table('absent')", 'ADMIN compact_table()', "ADMIN compact_table('a', 'b')"]) {
      expect((await almanac.sql(wrong)).status).to.be.within(400, 404);
    }
  });
});
