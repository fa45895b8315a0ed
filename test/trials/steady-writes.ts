import { parseArgs } from 'node:util';

import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection, requestHead } from '#test/bench/http-connection';
import { Almanac } from '#test/support/almanac';
import { memoryMib } from '#test/support/process-figures';
import { segmentCount } from '#test/support/segment-count';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- steady-writes [--minutes 30] [--rows 20000] [--late 0.01]`: writes rows of 2,000 hosts at a constant rate with
 * the current time, a fraction of them ten minutes late. Prints a line per minute: segments, and medians of queries over
 * a range of constant length. The last line compares the last minute with the fifth, and counts every row.
 */
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { minutes: text, rows: text, late: text } });
const minutes = Number(values.minutes ?? 30);
const rowsPerSecond = Number(values.rows ?? 20_000);
const lateShare = Number(values.late ?? 0.01);
const HOSTS = 2_000;
const ROWS_PER_BODY = 2_000;
const LATE_MS = 600_000;
const REPEATS = 20;
const COMPARED_MINUTE = 5;
const QUESTIONS: Readonly<Record<string, string>> = {
  'one host ms': `SELECT date_trunc('second', almanac_timestamp) AS second, max(f1) FROM load WHERE host = 'host_77' AND almanac_timestamp > now() - INTERVAL '2 minutes' GROUP BY second`,
  'all hosts ms': `SELECT host, avg(f1), avg(f2) FROM load WHERE almanac_timestamp > now() - INTERVAL '1 minute' GROUP BY host`,
  'above ms': `SELECT count(*) FROM load WHERE f3 > 90 AND almanac_timestamp > now() - INTERVAL '3 minutes'`,
};

const cleanUps: (() => void)[] = [];
const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
const almanac = await Almanac.start(folder);
const address = { host: '127.0.0.1', port: Number(new URL(almanac.url).port) };
const writing = new HttpConnection(address);
const asking = new HttpConnection(address);
const titles = Object.keys(QUESTIONS);

print(['minute', 'rows', 'segments', ...titles, 'memory MiB']);
const history: number[][] = [];
const startedMs = systemClock.monotonicMs();
let written = 0;
for (let minute = 1; minute <= minutes; minute++) {
  await writeUntil(startedMs + minute * 60_000);
  const mediansMs: number[] = [];
  for (const title of titles) {
    const times: number[] = [];
    for (let i = 0; i < REPEATS; i++) {
      times.push(await ask(QUESTIONS[title]));
      await writeUntil(systemClock.monotonicMs());
    }
    mediansMs.push(times.sort((a, b) => a - b)[REPEATS >> 1]);
  }
  history.push(mediansMs);
  const figures = [
    String(minute),
    String(written),
    String(segmentCount(folder)),
    ...mediansMs.map((ms) => ms.toFixed(1)),
  ];
  print([...figures, memoryMib(almanac.pid).toFixed(0)]);
}
const [[count]] = await almanac.rows('SELECT count(*) FROM load');
invariant(Number(count) === written, `${written} rows were acknowledged, ${String(count)} are there`);
// Of a shorter run: with itself.
const compared = history[COMPARED_MINUTE - 1] ?? history.at(-1)!;
const ratios = titles.map((_, i) => (history.at(-1)![i] / compared[i]).toFixed(2));
print(['ratio', String(count), String(segmentCount(folder)), ...ratios]);
writing.close();
asking.close();
invariant((await almanac.stop()) === 0, 'the server did not end well');
for (const cleanUp of cleanUps) cleanUp();

/** Writes what is due, until then. */
async function writeUntil(endMs: number): Promise<void> {
  for (;;) {
    const nowMs = systemClock.monotonicMs();
    while (written < ((nowMs - startedMs) / 1000) * rowsPerSecond) await write();
    if (nowMs >= endMs) return;
    await systemClock.sleep(Math.min(50, endMs - nowMs));
  }
}

async function write(): Promise<void> {
  const baseMs = systemClock.nowMs();
  const lines: string[] = [];
  for (let i = 0; i < ROWS_PER_BODY; i++) {
    const row = written + i;
    // No two rows of a host at one time: the number of the body is in the microseconds, lateness in the nanoseconds.
    const isLate = (row * 0.618) % 1 < lateShare;
    const us = (baseMs - (isLate ? LATE_MS : 0)) * 1000 + (Math.floor(row / HOSTS) % 1000);
    const value = (row * 7919) % 101;
    const fields = `f1=${value},f2=${(value * 31) % 97},f3=${(value + (row % 13)) % 101},f4=${row % 1000},f5=${value / 8}`;
    lines.push(`load,host=host_${row % HOSTS},region=r${row % 7} ${fields} ${us}00${isLate ? 1 : 0}`);
  }
  const body = Buffer.from(lines.join('\n'));
  const content = { contentType: 'text/plain', bytes: body.length };
  const head = requestHead('POST', '/v1/lineproto/write?db=public&precision=ns', address, content);
  const { status, body: answer } = await writing.send(head, body);
  invariant(status === 204, `rows were refused: ${status} ${answer.toString()}`);
  written += ROWS_PER_BODY;
}

/** @returns milliseconds. */
async function ask(sql: string): Promise<number> {
  const askedMs = systemClock.monotonicMs();
  const { status, body } = await asking.postForm('/v1/sql?db=public', { sql });
  invariant(status === 200, `a query failed: ${status} ${body.toString()}`);
  return systemClock.monotonicMs() - askedMs;
}

function print(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell) => cell.padStart(13)).join('')}\n`);
}
