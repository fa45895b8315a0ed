import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { invariant } from '#shared/errors/invariant';

import { Almanac, pollUntil } from './almanac.js';
import { peakMemoryMib } from './process-figures.js';

const MEBIBYTE = 1024 * 1024;
const HOSTS = 2_000;
const FIELDS = 20;
const ROWS_PER_REQUEST = 5_000;
const CONNECTIONS = 4;
const START_MS_MAX = 120_000;

/** Nothing is flushed while the log is filled. */
const NO_FLUSHES = {
  ALMANAC_INGESTER__FLUSH_BYTES: '64GiB',
  ALMANAC_INGESTER__FLUSH_INTERVAL: '1d',
  ALMANAC_WAL__PURGE_THRESHOLD: '64GiB',
  ALMANAC_MEMORY__LIMIT: '16GiB',
};

/** Figures of a start with a large log. */
export interface BigWalFigures {
  readonly logMib: number;
  readonly rowCount: number;
  readonly secondsToReady: number;
  readonly peakMemoryMib: number;
  /** Responses of `/ready` while the server started, without repetitions. */
  readonly answers: readonly ReadyAnswer[];
  /** Longest response time of `/health` meanwhile. */
  readonly healthMsMax: number;
}

/** A response of `/ready`. */
export interface ReadyAnswer {
  readonly httpStatus: number;
  readonly status?: string;
  readonly waiting?: readonly string[];
  readonly progress?: number;
}

/**
 * Fills a log with unflushed rows, kills the server, and starts it again with the default configuration.
 *
 * @param environment of the second start.
 * @throws if a row is missing after the start.
 */
export async function bigWal(
  folder: string,
  logBytes: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<BigWalFigures> {
  const filled = await Almanac.start(folder, { environment: NO_FLUSHES });
  const rowCount = await fill(filled, folder, logBytes);
  await filled.kill();
  const logMib = walBytes(folder) / MEBIBYTE;

  const startMs = performance.now();
  const almanac = await Almanac.start(folder, { waitUntilReady: false, environment });
  const { answers, healthMsMax } = await watchStart(almanac);
  const secondsToReady = (performance.now() - startMs) / 1000;
  const peakMib = peakMemoryMib(almanac.pid);
  await expectRows(almanac, rowCount);
  invariant((await almanac.stop()) === 0, 'the server did not end well');
  return { logMib, rowCount, secondsToReady, peakMemoryMib: peakMib, answers, healthMsMax };
}

async function fill(almanac: Almanac, folder: string, logBytes: number): Promise<number> {
  let next = 0;
  const send = async (): Promise<void> => {
    while (walBytes(folder) < logBytes) {
      const from = next;
      next += ROWS_PER_REQUEST;
      const { status, text } = await almanac.write(linesOf(from, from + ROWS_PER_REQUEST));
      invariant(status === 204, `a write was answered ${status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  return next;
}

/** Fields of the rows whose number has the same remainder; writing them for each row took most of the test's CPU time. */
const FIELD_TEXTS = Array.from({ length: 1000 }, (_, remainder) =>
  Array.from({ length: FIELDS }, (_, field) => `,f${field}=${((remainder * 7 + field * 13) % 1000) + 0.5}`).join(''),
);

function linesOf(from: number, to: number): string {
  const lines: string[] = [];
  for (let row = from; row < to; row++) {
    const time = BigInt(Math.floor(row / HOSTS)) * 10_000_000_000n;
    lines.push(`wide,host=host-${row % HOSTS},site=site-${row % 10} n=${row}i${FIELD_TEXTS[row % 1000]} ${time}`);
  }
  return lines.join('\n');
}

async function watchStart(almanac: Almanac): Promise<Pick<BigWalFigures, 'answers' | 'healthMsMax'>> {
  const answers: ReadyAnswer[] = [];
  let healthMsMax = 0;
  let last = '';
  const isReady = await pollUntil(performance.now() + START_MS_MAX, async () => {
    const ready = await almanac.get('/ready').catch(() => undefined);
    if (ready === undefined) return false;
    if (ready.text !== last) answers.push({ httpStatus: ready.status, ...(JSON.parse(ready.text) as object) });
    last = ready.text;
    const startMs = performance.now();
    const health = await almanac.get('/health');
    invariant(health.status === 200, `/health was answered ${health.status} during the start`);
    healthMsMax = Math.max(healthMsMax, performance.now() - startMs);
    return ready.status === 200;
  });
  invariant(isReady, `the server did not start: ${almanac.stderr}`);
  return { answers, healthMsMax };
}

async function expectRows(almanac: Almanac, rowCount: number): Promise<void> {
  const { text, rows } = await almanac.sql('SELECT count(*), sum(n), sum(f0), count(f19) FROM wide');
  let sum = 0;
  for (let row = 0; row < rowCount; row++) sum += ((row * 7) % 1000) + 0.5;
  const expected = [rowCount, (rowCount * (rowCount - 1)) / 2, sum, rowCount];
  invariant(JSON.stringify(rows[0]) === JSON.stringify(expected), `${text} instead of ${JSON.stringify(expected)}`);
}

function walBytes(folder: string): number {
  const wal = join(folder, 'slots/0/wal');
  return readdirSync(wal).reduce((sum, name) => sum + statSync(join(wal, name)).size, 0);
}
