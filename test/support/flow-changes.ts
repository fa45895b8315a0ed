import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';

import type { HttpApi } from './almanac.js';

const T0 = 1_700_000_000_000;
const HOSTS = 5;
const MINUTES = 40;
const DAY_MS = 86_400_000;

/** A flow, and the query that its sink must be equal to. */
export interface CheckedFlow {
  readonly name: string;
  /** The query of the flow, whose column names are those of the sink. */
  readonly query: string;
  readonly columns: string;
}

/** Flows over the table of `RandomChanges`: with windows of each kind, of all rows, with HAVING, and of distinct values. */
export const CHECKED_FLOWS: readonly CheckedFlow[] = [
  {
    name: 'by_minute',
    columns: 'host, w, n, total, least',
    query:
      "SELECT host, date_bin(INTERVAL '1 minute', ts) AS w, count(v) AS n, sum(v) AS total, min(v) AS least FROM src GROUP BY host, w",
  },
  {
    name: 'by_origin',
    columns: 'w, n, greatest',
    query:
      "SELECT date_bin(INTERVAL '7 minutes', ts, '2021-01-01 00:00:03') AS w, count(*) AS n, max(v) AS greatest FROM src GROUP BY w",
  },
  {
    name: 'by_month',
    columns: 'host, w, n',
    query: "SELECT host, date_trunc('month', ts) AS w, count(*) AS n FROM src WHERE v > 20 GROUP BY host, w",
  },
  {
    name: 'by_time',
    columns: 'ts, n',
    query: 'SELECT ts, count(*) AS n FROM src GROUP BY ts HAVING count(*) > 1',
  },
  {
    name: 'whole',
    columns: 'host, n, mean',
    query: 'SELECT host, count(*) AS n, avg(v) AS mean FROM src GROUP BY host',
  },
  { name: 'hosts', columns: 'host', query: 'SELECT DISTINCT host FROM src' },
];

/** Changes the rows of a table at random: in order, late, again, deleted, flushed, merged. */
export class RandomChanges {
  readonly random: SeededRandom;
  #minute = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  async createTables(api: HttpApi, flows: readonly CheckedFlow[] = CHECKED_FLOWS): Promise<void> {
    await api.rows('CREATE TABLE src (host STRING, ts TIMESTAMP TIME INDEX, v DOUBLE, PRIMARY KEY (host))');
    for (const { name, query } of flows) await api.rows(`CREATE FLOW ${name} SINK TO ${name}_sink AS ${query}`);
  }

  /** Makes one change. @returns what it was. */
  async change(api: HttpApi): Promise<string> {
    const statement = this.#statement();
    await api.rows(statement);
    return statement;
  }

  #statement(): string {
    const kind = this.#below(100);
    if (kind < 50) return this.#insert();
    if (kind < 65) return `DELETE FROM src WHERE host = 'h${this.#below(HOSTS)}' AND ts >= ${this.#time()} AND v > 30`;
    if (kind < 72) return `DELETE FROM src WHERE ts >= ${this.#time()} AND v < 15`;
    if (kind < 88) return "ADMIN flush_table('src')";
    if (kind < 96) return "ADMIN compact_table('src')";
    if (kind < 98) return `DELETE FROM src WHERE host = 'h${this.#below(HOSTS)}'`;
    return 'TRUNCATE TABLE src';
  }

  #insert(): string {
    this.#minute++;
    const rows = Array.from({ length: 1 + this.#below(30) }, () => {
      const isLate = this.#below(4) === 0;
      const ms = isLate ? this.#time() : T0 + this.#minute * 20_000 + this.#below(60) * 1000;
      return `('h${this.#below(HOSTS)}', ${ms}, ${this.#below(50)})`;
    });
    return `INSERT INTO src VALUES ${rows.join(', ')}`;
  }

  /** A time of some months, so that segments of several windows are written and merged. */
  #time(): number {
    return T0 + this.#below(3) * 20 * DAY_MS + this.#below(MINUTES) * 60_000;
  }

  #below(limit: number): number {
    return Math.floor(this.random.fraction() * limit);
  }
}

/** Flushes flows and sees that each sink has exactly the rows of its query. @param history changes before, for the message. */
export async function expectExact(
  api: HttpApi,
  history: readonly string[] = [],
  flows: readonly CheckedFlow[] = CHECKED_FLOWS,
): Promise<void> {
  for (const { name, query, columns } of flows) {
    await api.rows(`ADMIN flush_flow('${name}')`);
    const stored = await api.rows(`SELECT ${columns} FROM ${name}_sink ORDER BY ${columns}`);
    const computed = await api.rows(`SELECT ${columns} FROM (${query}) ORDER BY ${columns}`);
    expect(stored, `${name} after:\n${history.slice(-15).join('\n').slice(0, 3000)}`).to.deep.equal(computed);
  }
}
