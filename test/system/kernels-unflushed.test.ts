import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { compareOnly, compareWithEngine, kernelQueryCount, RUNS_OF_COMPARISON } from '#test/support/kernel-comparison';
import { largeRows, randomQuery, type LargeInsert, type RandomTable } from '#test/support/kernel-queries';
import { tempFolder } from '#test/support/temp-folder';

/** More rounds take longer: `KERNEL_TABLES=20 npx mocha dist/test/system/kernels-unflushed.test.js`. */
const ROUNDS = Number(process.env['KERNEL_TABLES'] ?? 2);
const FIRST_SEED = Number(process.env['KERNEL_SEED'] ?? 1);
const QUERIES = 12;
const HOSTS = Array.from({ length: 40 }, (_, i) => `h${i}`);
/** Many groups of unflushed rows, and some of 2^17. */
const ROWS = 90_000;
const FIELDS = ['d', 'f', 'i', 'n', 't', 'u'];
const FROM_SECONDS = -40_000;
const STEP_SECONDS = 20;

describe('kernels over many unflushed rows', function () {
  this.timeout(60_000 + ROUNDS * 60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      MERGES_BY_HAND,
    );
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function createTable(name: string, options: string): Promise<RandomTable> {
    const createSql =
      `CREATE TABLE ${name} (h STRING, r STRING, d DOUBLE, f FLOAT, i INT, n BIGINT, t TINYINT, u SMALLINT UNSIGNED,` +
      ` b BOOLEAN, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (h, r)) WITH (${options})`;
    await almanac.rows(createSql);
    return {
      name,
      createSql,
      unitsPerSecond: 1000,
      isAppendOnly: options.includes('append'),
      hosts: HOSTS,
      isLarge: true,
    };
  }

  /** Inserts rows in several batches. @returns the numbers of the next ones. */
  async function insert(table: RandomTable, rows: Partial<LargeInsert>, first: number): Promise<number> {
    const batch = 15_000;
    for (let at = 0; at < ROWS; at += batch) {
      const all = { fromSeconds: FROM_SECONDS, stepSeconds: STEP_SECONDS, lateSeconds: 0, fields: FIELDS, ...rows };
      const fromSeconds = all.fromSeconds + Math.floor(at / HOSTS.length) * all.stepSeconds;
      await almanac.rows(largeRows(table, { ...all, fromSeconds, count: batch, first: first + at }));
    }
    return first + ROWS;
  }

  async function compareAll(table: RandomTable, ...randoms: readonly SeededRandom[]): Promise<void> {
    for (const random of randoms) {
      for (let i = 0; i < QUERIES; i++) await compareOnly(randomQuery(table, random), almanac);
    }
  }

  for (const mode of ["merge_mode = 'last_row'", "merge_mode = 'last_non_null'", "append_mode = 'true'"]) {
    it(`return what the engine returns: ${mode}`, async () => {
      const before = await kernelQueryCount(almanac);
      // The rows do not depend on the seed, and inserting them takes longer than a round of queries.
      const randoms = Array.from({ length: ROUNDS }, (_, i) => new SeededRandom(FIRST_SEED + i));
      const table = await createTable(mode.replaceAll(/\W/g, ''), mode);
      const next = await insert(table, {}, 0);
      await compareAll(table, ...randoms);
      // A column that the first rows do not have, and late rows.
      await almanac.rows(`ALTER TABLE ${table.name} ADD COLUMN x DOUBLE`);
      const late = { fromSeconds: FROM_SECONDS + 15_000, lateSeconds: 9000, fields: [...FIELDS, 'x'] };
      await insert(table, late, next);
      await compareAll(table, ...randoms);
      const sql = `SELECT h, sum(x), count(x), avg(i), max(i) FROM ${table.name} GROUP BY h ORDER BY h`;
      await compareOnly({ sql, isOrdered: true, inexact: new Set([1, 3]) }, almanac);
      if (!table.isAppendOnly) await almanac.rows(`DELETE FROM ${table.name} WHERE h = 'h3'`);
      await compareAll(table, ...randoms);
      // Flushed rows that later ones replace.
      await almanac.flush(table.name);
      await insert(table, { fromSeconds: FROM_SECONDS + 30_000, lateSeconds: 2000 }, 7);
      await compareAll(table, ...randoms);
      // Segments that overlap.
      await almanac.flush(table.name);
      await compareAll(table, ...randoms);
      const count = (await kernelQueryCount(almanac)) - before;
      expect(count).to.be.greaterThan((RUNS_OF_COMPARISON * ROUNDS * (5 * QUERIES + 1)) / 2);
    });
  }

  it('read all late rows after a query of the newest ones', async () => {
    const table = await createTable('newest', "merge_mode = 'last_row'");
    await insert(table, {}, 0);
    await almanac.flush(table.name);
    await insert(table, { lateSeconds: 9000 }, 7);
    await almanac.flush(table.name);
    const before = await kernelQueryCount(almanac);
    const newest = 'SELECT h, last_value(i ORDER BY ts) AS l FROM newest GROUP BY h ORDER BY h';
    await compareOnly({ sql: newest, isOrdered: true, inexact: new Set() }, almanac);
    const all = "SELECT date_trunc('hour', ts) AS k, count(*) AS c, sum(i) AS s FROM newest GROUP BY k ORDER BY k";
    await compareOnly({ sql: all, isOrdered: true, inexact: new Set() }, almanac);
    expect((await kernelQueryCount(almanac)) - before).to.equal(2 * RUNS_OF_COMPARISON);
  });

  it('return what the engine returns where most rows are within a small part of the time range', async () => {
    // Milliseconds instead of seconds: 300,000 rows within eight seconds, and one that is late by decades.
    const table = { ...(await createTable('dense', "merge_mode = 'last_non_null'")), unitsPerSecond: 1 };
    const fromSeconds = 1_000_000_000_000;
    for (let i = 0; i < 20; i++) {
      const rows = { fromSeconds: fromSeconds + 375 * i, stepSeconds: 1, lateSeconds: 50, fields: FIELDS };
      await almanac.rows(largeRows(table, { ...rows, count: 15_000, first: 15_000 * i }));
    }
    await almanac.rows("INSERT INTO dense (h, r, d, ts) VALUES ('h0', 'eu', 1, 1)");
    const aggregates = 'count(*) AS c, sum(i) AS s, max(d) AS m, count(f) AS n';
    for (const sql of [
      `SELECT h, ${aggregates}, last_value(t ORDER BY ts) AS l FROM dense GROUP BY h ORDER BY h`,
      `SELECT date_trunc('day', ts) AS k, ${aggregates} FROM dense GROUP BY k ORDER BY k`,
      `SELECT ${aggregates} FROM dense WHERE ts > ${fromSeconds + 100} AND ts < ${fromSeconds + 5000} AND i > 0`,
    ]) {
      expect(await compareWithEngine({ sql, isOrdered: true, inexact: new Set() }, almanac)).to.equal('path: kernels');
    }
  });

  it('return what the engine returns where memory is short', async () => {
    const other = almanac;
    let removeFolder: () => void = () => undefined;
    const folder = tempFolder((after) => (removeFolder = after));
    almanac = await Almanac.start(folder, { environment: { ALMANAC_STANDALONE__MEMORY__LIMIT: '700MiB' } });
    try {
      const table = await createTable('short', "merge_mode = 'last_row'");
      await insert(table, {}, 0);
      await insert(table, { fromSeconds: FROM_SECONDS + 15_000, lateSeconds: 9000 }, ROWS);
      await compareAll(table, new SeededRandom(FIRST_SEED));
      const sql = 'SELECT h, sum(i), max(d), count(f), min(n), max(t), sum(u) FROM short GROUP BY h ORDER BY h';
      expect(await compareWithEngine({ sql, isOrdered: true, inexact: new Set() }, almanac)).to.equal('path: kernels');
    } finally {
      await almanac.kill();
      almanac = other;
      removeFolder();
    }
  });

  it('return the same rows while others are inserted and all are flushed', async () => {
    const table = await createTable('busy', "merge_mode = 'last_row'");
    await insert(table, { lateSeconds: 3000 }, 0);
    const untilMs = (FROM_SECONDS + 40_000) * 1000;
    const queries = [
      `SELECT h, count(*), max(d), last_value(i ORDER BY ts) FROM busy WHERE ts < ${untilMs} GROUP BY h ORDER BY h`,
      `SELECT h, ts, f FROM busy WHERE ts < ${untilMs} AND (h, ts) IN (SELECT h, max(ts) FROM busy WHERE ts < ${untilMs} GROUP BY h) ORDER BY h`,
      `SELECT date_trunc('hour', ts) AS k, sum(i), min(t) FROM busy WHERE ts < ${untilMs} AND h IN ('h1', 'h2') GROUP BY k ORDER BY k`,
    ];
    const expected = await Promise.all(queries.map((sql) => almanac.rows(`SELECT * FROM (${sql}) AS q ORDER BY 1`)));
    let isDone = false;
    const query = async (i: number): Promise<number> => {
      let count = 0;
      for (; !isDone; count++) expect(await almanac.rows(queries[i]), queries[i]).to.deep.equal(expected[i]);
      return count;
    };
    const running = Promise.all([...queries.keys(), ...queries.keys()].map(query));
    try {
      const later = { fromSeconds: FROM_SECONDS + 90_000, lateSeconds: 1000 };
      const next = await insert(table, later, 1_000_000);
      await almanac.flush(table.name);
      await insert(table, { ...later, fromSeconds: FROM_SECONDS + 150_000 }, next);
      await almanac.flush(table.name);
    } finally {
      isDone = true;
    }
    for (const count of await running) expect(count).to.be.greaterThan(0);
  });
});
