import { invariant } from '#shared/errors/invariant';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

import { Almanac } from './almanac.js';
import { CRASH_WRITERS, rowOf, type CrashWriter } from './crash-writers.js';

/** What one writer has sent, and what was acknowledged. Its rows are numbered; each request has the next numbers. */
interface Progress {
  readonly writer: CrashWriter;
  /** Requests with a status of success. */
  readonly acknowledged: { readonly from: number; readonly to: number }[];
  /** Numbers below this one were sent. */
  sent: number;
}

const ROWS_PER_REQUEST = [1, 7, 100, 900];

/**
 * Runs rounds: writers run concurrently, the server is killed at a random moment and restarted, and every acknowledged
 * row must exist once, by number and by checksum of its values.
 *
 * @param seed determines sizes and moments; timing differs from run to run.
 * @throws an error that names round, writer and the missing or duplicate rows.
 */
export async function crashRounds(folder: string, options: { rounds: number; seed: number }): Promise<CrashSummary> {
  const random = new SeededRandom(options.seed);
  let almanac = await Almanac.start(folder, { environment: SMALL_FLUSHES });
  await almanac.sql(
    `CREATE TABLE appended (host STRING, n BIGINT, v DOUBLE, ts TIMESTAMP(9) TIME INDEX, PRIMARY KEY (host)) WITH (append_mode = 'true')`,
  );
  const writers = CRASH_WRITERS.map((writer): Progress => ({ writer, acknowledged: [], sent: 0 }));
  for (let round = 0; round < options.rounds; round++) {
    const target = almanac;
    let isKilled = false;
    const killAfter = 1 + Math.floor(random.fraction() * 60);
    let answered = 0;
    let killing: Promise<void> | undefined;
    const onAnswer = (): void => {
      answered++;
      // Every writer has rows to lose.
      const isEarly = round === 0 && writers.some(({ acknowledged }) => acknowledged.length === 0);
      if (answered < killAfter || isKilled || isEarly) return;
      isKilled = true;
      killing = target.kill();
    };
    await Promise.all(writers.map((writer) => writeUntilKilled(target, writer, random, () => isKilled, onAnswer)));
    await killing;
    almanac = await Almanac.start(folder, { environment: SMALL_FLUSHES });
    for (const writer of writers) await check(almanac, writer, round);
  }
  const rowsOf = ({ acknowledged }: Progress): number => acknowledged.reduce((sum, { from, to }) => sum + to - from, 0);
  const acknowledgedRows = Object.fromEntries(writers.map((progress) => [progress.writer.name, rowsOf(progress)]));
  const exitCode = await almanac.stop();
  invariant(exitCode === 0, `the last stop ended with ${exitCode}`);
  return { rounds: options.rounds, acknowledgedRows };
}

/** Totals of all rounds. */
export interface CrashSummary {
  readonly rounds: number;
  /** By writer. */
  readonly acknowledgedRows: Readonly<Record<string, number>>;
}

/** Regions are flushed many times a round, so that kills meet flushes and commits, too. */
const SMALL_FLUSHES = { ALMANAC_INGESTER__FLUSH_BYTES: '128KiB', ALMANAC_WAL__FILE_SIZE: '256KiB' };

async function writeUntilKilled(
  almanac: Almanac,
  progress: Progress,
  random: SeededRandom,
  isKilled: () => boolean,
  onAnswer: () => void,
): Promise<void> {
  const { writer } = progress;
  while (!isKilled()) {
    const from = progress.sent;
    const to = from + ROWS_PER_REQUEST[Math.floor(random.fraction() * ROWS_PER_REQUEST.length)];
    progress.sent = to;
    const status = await writer.send(
      almanac,
      Array.from({ length: to - from }, (_, i) => rowOf(from + i)),
    );
    if (status === 200 || status === 204) progress.acknowledged.push({ from, to });
    else if (!isKilled() && status !== 0) throw new Error(`${writer.name} was answered ${status}`);
    onAnswer();
  }
}

/** Compares stored rows with acknowledged ones. Rows of requests without a response may exist, but once. */
async function check(almanac: Almanac, { writer, acknowledged, sent }: Progress, round: number): Promise<void> {
  const { name, sql } = writer;
  const { status, text, rows } = await almanac.sql(sql);
  const exists = status === 200;
  if (!exists && acknowledged.length === 0) return;
  invariant(exists, `round ${round}, ${name}: ${text}`);
  const present = new Set<number>();
  for (const [n, count, least, most] of rows as [number, number, number, number][]) {
    const { value } = rowOf(n);
    invariant(count === 1, `round ${round}: row ${n} of ${name} is there ${count} times`);
    invariant(n >= 0 && n < sent, `round ${round}: row ${n} of ${name} was never sent`);
    invariant(least === value && most === value, `round ${round}: row ${n} of ${name} has ${least}`);
    present.add(n);
  }
  for (const { from, to } of acknowledged) {
    for (let n = from; n < to; n++) {
      invariant(present.has(n), `round ${round}: row ${n} of ${name} was acknowledged and is lost`);
    }
  }
}
