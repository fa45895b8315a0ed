import { invariant } from '#shared/errors/invariant';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

import { Almanac } from './almanac.js';

/** What one writer sends, and what was acknowledged. Its rows are numbered; each request has the next numbers. */
interface Writer {
  readonly name: string;
  readonly kind: 'in-order' | 'late' | 'duplicate' | 'append';
  /** Requests with status 204. */
  readonly acknowledged: { readonly from: number; readonly to: number }[];
  /** Numbers below this one were sent. */
  sent: number;
}

const KINDS = ['in-order', 'late', 'duplicate', 'append'] as const;
const ROWS_PER_REQUEST = [1, 7, 100, 900];
const START_NS = 1_700_000_000_000_000_000n;

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
  const writers = KINDS.flatMap((kind) =>
    [0, 1].map((i): Writer => ({ name: `${kind}${i}`, kind, acknowledged: [], sent: 0 })),
  );
  for (let round = 0; round < options.rounds; round++) {
    const target = almanac;
    let isKilled = false;
    const killAfter = 1 + Math.floor(random.fraction() * 60);
    let answered = 0;
    let killing: Promise<void> | undefined;
    const onAnswer = (): void => {
      answered++;
      if (answered < killAfter || isKilled) return;
      isKilled = true;
      killing = target.kill();
    };
    await Promise.all(writers.map((writer) => writeUntilKilled(target, writer, random, () => isKilled, onAnswer)));
    await killing;
    almanac = await Almanac.start(folder, { environment: SMALL_FLUSHES });
    for (const writer of writers) await check(almanac, writer, round);
  }
  let rows = 0;
  for (const writer of writers) for (const { from, to } of writer.acknowledged) rows += to - from;
  const exitCode = await almanac.stop();
  invariant(exitCode === 0, `the last stop ended with ${exitCode}`);
  return { rounds: options.rounds, acknowledgedRows: rows };
}

/** Totals of all rounds. */
export interface CrashSummary {
  readonly rounds: number;
  readonly acknowledgedRows: number;
}

/** Regions are flushed many times a round, so that kills meet flushes and commits, too. */
const SMALL_FLUSHES = { ALMANAC_INGESTER__FLUSH_BYTES: '128KiB', ALMANAC_WAL__FILE_SIZE: '256KiB' };

async function writeUntilKilled(
  almanac: Almanac,
  writer: Writer,
  random: SeededRandom,
  isKilled: () => boolean,
  onAnswer: () => void,
): Promise<void> {
  while (!isKilled()) {
    const from = writer.sent;
    const to = from + ROWS_PER_REQUEST[Math.floor(random.fraction() * ROWS_PER_REQUEST.length)];
    writer.sent = to;
    const status = await almanac.write(linesOf(writer, from, to)).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 204) writer.acknowledged.push({ from, to });
    else if (!isKilled() && status !== 0) throw new Error(`${writer.name} was answered ${status}`);
    onAnswer();
  }
}

/** Returns rows of a writer. Time and values of row `n` depend on `n` only. */
function linesOf(writer: Writer, from: number, to: number): string {
  const table = writer.kind === 'append' ? 'appended' : 'versioned';
  const lines: string[] = [];
  for (let n = from; n < to; n++) {
    const line = `${table},host=${writer.name} n=${n}i,v=${valueOf(n)} ${timeOf(writer, n)}`;
    lines.push(line);
    // The same row again in the same request is still one row.
    if (writer.kind === 'duplicate') lines.push(line);
  }
  return lines.join('\n');
}

function valueOf(n: number): number {
  return (n % 1000) + 0.5;
}

/** Late writers go back and forth by up to an hour, without using a time twice. */
function timeOf(writer: Writer, n: number): bigint {
  const seconds = writer.kind === 'late' ? (n * 1789) % 3600 : 0;
  return START_NS + BigInt(seconds) * 1_000_000_000n + BigInt(n) * 1_000n;
}

/** Compares stored rows with acknowledged ones. Rows of requests without a response may exist, but once. */
async function check(almanac: Almanac, writer: Writer, round: number): Promise<void> {
  const table = writer.kind === 'append' ? 'appended' : 'versioned';
  const { status, text, rows } = await almanac.sql(
    `SELECT n, count(*), min(v), max(v) FROM ${table} WHERE host = '${writer.name}' GROUP BY n`,
  );
  const exists = status === 200;
  if (!exists && writer.acknowledged.length === 0) return;
  invariant(exists, `round ${round}: ${text}`);
  const present = new Set<number>();
  for (const [n, count, least, most] of rows as [number, number, number, number][]) {
    invariant(count === 1, `round ${round}: row ${n} of ${writer.name} is there ${count} times`);
    invariant(n < writer.sent, `round ${round}: row ${n} of ${writer.name} was never sent`);
    invariant(least === valueOf(n) && most === valueOf(n), `round ${round}: row ${n} of ${writer.name} has ${least}`);
    present.add(n);
  }
  for (const { from, to } of writer.acknowledged) {
    for (let n = from; n < to; n++) {
      invariant(present.has(n), `round ${round}: row ${n} of ${writer.name} was acknowledged and is lost`);
    }
  }
}
