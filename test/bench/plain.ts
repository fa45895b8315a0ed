import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection } from './http-connection.js';
import { FIELD_NAMES } from './tsbs/generator.js';

export interface PlainFigures {
  readonly question: string;
  readonly almanacP50Ms: number;
  readonly directP50Ms: number;
}

const REPEATS = 15;

/** Statements over the whole table; the direct ones read its files, and join the tags where they are needed. */
const QUESTIONS: readonly { readonly title: string; readonly sql: string; readonly needsTags?: true }[] = [
  {
    title: 'sum of ten fields',
    sql: `SELECT count(*), ${FIELD_NAMES.map((name) => `sum(${name})`).join(', ')} FROM cpu`,
  },
  {
    title: 'mean of five fields an hour',
    sql: `SELECT date_trunc('hour', almanac_timestamp) AS hour, ${FIELD_NAMES.slice(0, 5)
      .map((name) => `avg(${name})`)
      .join(', ')} FROM cpu GROUP BY hour ORDER BY hour`,
  },
  { title: 'count above 90', sql: 'SELECT count(*) FROM cpu WHERE usage_user > 90 AND usage_system > 50' },
  {
    title: 'greatest of each host',
    sql: 'SELECT hostname, max(usage_user) FROM cpu GROUP BY hostname ORDER BY hostname',
    needsTags: true,
  },
];

/**
 * Runs the same queries on a server over HTTP, and on its files by the same engine in this process, alternately. The table
 * must be flushed and have no overlapping segments.
 */
export async function measurePlain(port: number, storeFolder: string): Promise<PlainFigures[]> {
  const instance = await DuckDBInstance.create();
  const direct = await instance.connect();
  const connection = new HttpConnection({ host: '127.0.0.1', port });
  const figures: PlainFigures[] = [];
  for (const { title, sql, needsTags } of QUESTIONS) {
    const directSql = sql.replace('FROM cpu', `FROM ${filesOf(storeFolder, needsTags ?? false)}`);
    const times = { almanac: [] as number[], direct: [] as number[] };
    for (let i = 0; i <= REPEATS; i++) {
      const almanacMs = await timed(() => ask(connection, sql));
      const directMs = await timed(() => run(direct, directSql));
      // The first of each opens files.
      if (i === 0) continue;
      times.almanac.push(almanacMs);
      times.direct.push(directMs);
    }
    figures.push({ question: title, almanacP50Ms: median(times.almanac), directP50Ms: median(times.direct) });
  }
  connection.close();
  direct.closeSync();
  instance.closeSync();
  return figures;
}

function filesOf(storeFolder: string, needsTags: boolean): string {
  const paths = readdirSync(storeFolder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.parquet'),
  );
  const list = (wanted: boolean): string =>
    paths
      .filter((path) => basename(path).startsWith('series-') === wanted)
      .map((path) => `'${join(storeFolder, path)}'`)
      .join(', ');
  const rows = `read_parquet([${list(false)}])`;
  return needsTags ? `${rows} JOIN read_parquet([${list(true)}]) USING (__sid)` : rows;
}

async function ask(connection: HttpConnection, sql: string): Promise<void> {
  const { status, body } = await connection.postForm('/v1/sql?db=public', { sql });
  invariant(status === 200, body.toString());
}

async function run(connection: DuckDBConnection, sql: string): Promise<void> {
  const result = await connection.run(sql);
  JSON.stringify(await result.getRowsJson());
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - startedMs;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
