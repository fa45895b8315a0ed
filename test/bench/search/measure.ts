import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';

import { HttpConnection } from '../http-connection.js';
import { runProgram } from '../ingest.js';
import { almanac, flushTable } from '../server-kinds.js';
import { RunningServer } from '../server.js';
import { FREQUENT, RARE } from './log-lines.js';

/** What is loaded and searched. */
export interface SearchPlan {
  readonly lines: number;
  readonly connections: number;
  readonly port: number;
  readonly seed: number;
}

/** A search with each index, and of the same lines without one. */
export interface SearchFigures {
  readonly search: string;
  /** Result, which must be the same everywhere. */
  readonly count: number;
  /** Median by backend; `plain` without an index. */
  readonly p50Ms: Readonly<Record<Backend, number>>;
}

/** How a load went. */
export interface SearchLoad {
  readonly backend: string;
  readonly rowsPerSecond: number;
  readonly bytesPerLine: number;
  readonly seconds: number;
}

const BACKENDS = ['bloom', 'inverted'] as const;
type Backend = (typeof BACKENDS)[number] | 'plain';

const SEARCHES: Readonly<Record<string, string>> = {
  'rare word, its lines': `SELECT ts, line FROM logs WHERE line @@ '${RARE.word}' ORDER BY ts`,
  'rare word in any case, counted': `SELECT count(*) FROM logs WHERE lower(line) @@ '${RARE.word}'`,
  'frequent word, counted': `SELECT count(*) FROM logs WHERE line @@ '${FREQUENT}'`,
  'frequent word by hour': `SELECT date_bin(INTERVAL '1 hour', ts) AS h, count(*) FROM logs WHERE line @@ '${FREQUENT}' GROUP BY h ORDER BY h`,
  'part of a word, counted': "SELECT count(*) FROM logs WHERE contains(line, 'rders')",
  'absent word, counted': "SELECT count(*) FROM logs WHERE line @@ 'nowhere'",
};
const RUNS = 5;

/** Loads lines into a server for each backend, merges them, and times searches with and without the index. */
export async function measureSearch(plan: SearchPlan): Promise<{ loads: SearchLoad[]; searches: SearchFigures[] }> {
  const { lines, connections, port, seed } = plan;
  const loader = { lines, connections, port, seed };
  const loads: SearchLoad[] = [];
  const all = new Map<string, { count: number; p50Ms: Partial<Record<Backend, number>> }>();
  for (const backend of BACKENDS) {
    const server = await RunningServer.start({ ...almanac, ...flushTable('logs'), name: backend }, plan.port);
    const connection = new HttpConnection({ host: '127.0.0.1', port: plan.port });
    try {
      const startedMs = systemClock.monotonicMs();
      const index = `FULLTEXT INDEX WITH (backend = '${backend}')`;
      await ask(
        connection,
        `CREATE TABLE logs (ts TIMESTAMP(3) TIME INDEX, line STRING ${index}) WITH (append_mode = 'true')`,
      );
      const path = '/v1/ingest?table=logs&pipeline_name=almanac_identity&custom_time_index=ts%3Bepoch%3Bms';
      const { rowsPerSecond, errors, firstError } = await runProgram('search/loader.js', { ...loader, path });
      invariant(errors === 0, `lines were refused: ${firstError}`);
      await server.flush();
      await server.compact();
      const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
      loads.push({ backend, rowsPerSecond, bytesPerLine: server.storedBytes() / plan.lines, seconds });
      await timeSearches(connection, backend, all);
      if (backend !== 'inverted') continue;
      await ask(connection, 'ALTER TABLE logs MODIFY COLUMN line UNSET FULLTEXT INDEX');
      await timeSearches(connection, 'plain', all);
    } finally {
      connection.close();
      await server.stop();
    }
  }
  const searches = Array.from(all, ([search, { count, p50Ms }]) => ({
    search,
    count,
    p50Ms: p50Ms as SearchFigures['p50Ms'],
  }));
  return { loads, searches };
}

async function timeSearches(
  connection: HttpConnection,
  backend: Backend,
  all: Map<string, { count: number; p50Ms: Partial<Record<Backend, number>> }>,
): Promise<void> {
  for (const [search, sql] of Object.entries(SEARCHES)) {
    const times: number[] = [];
    let count = 0;
    for (let run = 0; run < RUNS; run++) {
      const startedMs = systemClock.monotonicMs();
      const rows = await ask(connection, sql);
      times.push(systemClock.monotonicMs() - startedMs);
      count = rows.length === 1 ? Number(rows[0].at(-1)) : rows.length;
    }
    times.sort((a, b) => a - b);
    const known = all.get(search) ?? { count, p50Ms: {} };
    invariant(known.count === count, `${search}: ${count} by ${backend}, ${known.count} by another index`);
    known.p50Ms[backend] = times[Math.floor(RUNS / 2)];
    all.set(search, known);
  }
}

async function ask(connection: HttpConnection, sql: string): Promise<unknown[][]> {
  const reply = await connection.postForm('/v1/sql?db=public', { sql }, ['X-Almanac-Timeout: 10m']);
  const text = reply.body.toString();
  invariant(reply.status === 200, `${sql}: ${text}`);
  const { output } = JSON.parse(text) as { output: [{ records?: { rows: unknown[][] } }] };
  return output[0].records?.rows ?? [];
}
