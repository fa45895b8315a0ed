import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { pathOf } from '#test/support/kernel-comparison';
import { tempFolder } from '#test/support/temp-folder';

const SECONDS = 700;
/** Kernels pass on up to 256 buckets of a series at once. */
const COUNTS = [1, 255, 256, 257, 511, 512, 513, SECONDS];

describe('kernels over many time buckets of one series', () => {
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    await almanac.sql('CREATE TABLE s (h STRING PRIMARY KEY, ts TIMESTAMP(3) TIME INDEX, a DOUBLE, i BIGINT)');
    const rows: string[] = [];
    for (let k = 0; k < SECONDS; k++) {
      for (const host of ['x', 'y']) {
        const value = k % 7 === 3 ? 'NULL' : `${((k * 37) % 101) / 8}`;
        rows.push(`('${host}', ${k * 1000}, ${value}, ${(k * k) % 97})`);
        if (k % 5 === 0) rows.push(`('${host}', ${k * 1000 + 400}, ${k / 3}, NULL)`);
      }
    }
    await almanac.sql(`INSERT INTO s (h, ts, a, i) VALUES ${rows.join(', ')}`);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  function query(count: number, condition: string): string {
    return `SELECT date_trunc('second', ts) AS t, max(a), min(a), sum(i), count(*), count(a), avg(i),
      first_value(a ORDER BY ts), last_value(i ORDER BY ts), max(ts)
      FROM s WHERE h = 'x' AND ts < ${count * 1000}::TIMESTAMP(3) ${condition} GROUP BY t ORDER BY t`;
  }

  async function compare(): Promise<void> {
    for (const count of COUNTS) {
      for (const condition of ['', 'AND a >= 3', 'AND i < 50']) {
        const sql = query(count, condition);
        const found = await almanac.rows(sql);
        expect(found, sql).to.deep.equal(await almanac.rows(`SELECT * FROM (${sql}) AS q`));
        if (condition === '') expect(found.length).to.equal(count - Math.floor(count / 300));
      }
    }
    expect(await pathOf(query(SECONDS, 'AND a >= 3'), almanac)).to.equal('path: kernels');
  }

  it('add up small integers of spans of any length, which begin anywhere', async () => {
    const count = 20_000;
    await almanac.sql('CREATE TABLE small (ts TIMESTAMP(3) TIME INDEX, i BIGINT, m BIGINT, n BIGINT)');
    await almanac.sql(
      `INSERT INTO small SELECT k * 1000, 255 - (k * 7919) % 256, CASE WHEN k = 9 THEN 0 ELSE 255 END,
        CASE WHEN k % 11 > 0 THEN 300 + k % 200 END FROM range(0, ${count}) AS s(k)`,
    );
    await almanac.sql("ADMIN flush_table('small')");
    for (const seconds of [1, 7, 63, 64, 65, 127, 1023, 1024, 1025, 5000, 30_000]) {
      for (const from of [0, 1, 2, 3, 509]) {
        const sql = `SELECT date_bin('${seconds} seconds'::INTERVAL, ts) AS t, sum(i), avg(i), sum(m), sum(n), count(n)
          FROM small WHERE ts >= ${from * 1000}::TIMESTAMP(3) GROUP BY t ORDER BY t`;
        expect(await almanac.rows(sql), sql).to.deep.equal(await almanac.rows(`SELECT * FROM (${sql}) AS q`));
      }
    }
  });

  it('return what the engine returns, unflushed and flushed, with nulls, conditions and deletions', async () => {
    await almanac.sql('DELETE FROM s WHERE ts >= 299000::TIMESTAMP(3) AND ts < 300000::TIMESTAMP(3)');
    await almanac.sql('DELETE FROM s WHERE ts >= 599000::TIMESTAMP(3) AND ts < 600000::TIMESTAMP(3)');
    await compare();
    await almanac.sql("ADMIN flush_table('s')");
    await compare();
  });
});
