import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const TABLES = 10;
/** Segments of each table: a day each, since segments are cut by time windows. */
const DAYS = 200;
/** A flush with more time windows puts several of them into one segment. */
const DAYS_PER_FLUSH = 40;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const FIRST_MS = Date.UTC(2024, 0, 1);
/** Five minutes in the middle of a day. */
const FROM_MS = FIRST_MS + 120 * DAY_MS + DAY_MS / 2;

function linesOf(table: number, day: number): string[] {
  return Array.from({ length: 10 }, (_, minute) => {
    const ms = FIRST_MS + day * DAY_MS + DAY_MS / 2 + minute * MINUTE_MS;
    return `t${table},host=h${minute % 2} v=${day * 10 + minute} ${ms}`;
  });
}

describe('queries of five minutes over ten tables with 2,000 segments', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      MERGES_BY_HAND,
    );
    for (let table = 0; table < TABLES; table++) {
      for (let from = 0; from < DAYS; from += DAYS_PER_FLUSH) {
        const days = Array.from({ length: DAYS_PER_FLUSH }, (_, i) => from + i);
        await almanac.written(days.flatMap((day) => linesOf(table, day)).join('\n'), 'precision=ms');
        await almanac.flush(`t${table}`);
      }
    }
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const names = Array.from({ length: TABLES }, (_, i) => `t${i}`);
  const bounds = (alias = ''): string => {
    const time = `${alias}almanac_timestamp`;
    return `${time} >= ${FROM_MS}::TIMESTAMP(3) AND ${time} < ${FROM_MS + 5 * MINUTE_MS}::TIMESTAMP(3)`;
  };

  /** Runs a query with EXPLAIN ANALYZE. @returns for each table what was read of it, in the order of the tables. */
  async function scans(query: string): Promise<string[]> {
    const rows = await almanac.rows(`EXPLAIN ANALYZE ${query}`);
    const lines = rows.flatMap((row) => String(row.at(-1)).split('\n'));
    return lines.filter((line) => line.startsWith('scan ')).sort();
  }

  const ONE_OF_EACH = names.map((name) => `scan public.${name}: 1 of ${DAYS} segments`).sort();

  const union = names.map((name) => `SELECT * FROM ${name}`).join(' UNION ALL ');
  for (const [what, query, result] of [
    [
      'conditions in each part of a union',
      `SELECT sum(v) FROM (${names.map((name) => `SELECT v FROM ${name} WHERE ${bounds()}`).join(' UNION ALL ')})`,
      '60100',
    ],
    ['a condition around a union', `SELECT sum(v) FROM (${union}) WHERE ${bounds()}`, '60100'],
    ['a condition on a CTE', `WITH all_rows AS (${union}) SELECT sum(v) FROM all_rows WHERE ${bounds()}`, '60100'],
    [
      'a condition on one table of a join by time',
      `SELECT sum(t0.v) FROM t0 ${names
        .slice(1)
        .map((name) => `JOIN ${name} ON ${name}.almanac_timestamp = t0.almanac_timestamp AND ${name}.host = t0.host`)
        .join(' ')} WHERE ${bounds('t0.')}`,
      '6010',
    ],
    ['a range query', `SELECT sum(v) RANGE '1m' FROM t0 WHERE ${bounds()} ALIGN '1m'`, undefined],
  ] as const) {
    it(`read one segment of each table: ${what}`, async () => {
      if (result !== undefined) expect(String((await almanac.rows(query))[0][0])).to.equal(result);
      expect(await scans(query)).to.deep.equal(result === undefined ? ONE_OF_EACH.slice(0, 1) : ONE_OF_EACH);
    });
  }
});
