import { parseArgs } from 'node:util';

import { compressSync } from 'snappy';

import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection, requestHead } from '#test/bench/http-connection';
import { Pods, SCRAPE_SECONDS } from '#test/bench/remote-write/pods';
import { Almanac } from '#test/support/almanac';
import { memoryMib, peakMemoryMib } from '#test/support/process-figures';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- churn [--pods 1000] [--share 0.01] [--minutes 10] [--pace 1]`: pods of 100 series each are scraped every
 * 15 s and sent by remote write; each minute a share of them is replaced by new ones. Prints a line for each minute.
 * Pace 10 sends ten minutes of scrapes in one, 0 as fast as they are taken.
 */
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { pods: text, share: text, minutes: text, pace: text } });
const pods = new Pods(Number(values.pods ?? 1000), Number(values.share ?? 0.01));
const minutes = Number(values.minutes ?? 10);
const pace = Number(values.pace ?? 1);
const START_MS = 1_700_000_000_000;
const SAMPLES_PER_BODY = 2_000;
const CONNECTIONS = 4;
const SCRAPES_A_MINUTE = 60 / SCRAPE_SECONDS;

const cleanUps: (() => void)[] = [];
const almanac = await Almanac.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
const address = { host: '127.0.0.1', port: Number(new URL(almanac.url).port) };
const connections = Array.from({ length: CONNECTIONS }, () => new HttpConnection(address));

print(['minute', 'series', 'samples/s', 'write p50 ms', 'p99', 'instant ms', 'range ms', 'memory MiB', 'peak MiB']);
const startedMs = systemClock.monotonicMs();
for (let minute = 0; minute < minutes; minute++) {
  const waitsMs: number[] = [];
  let busyMs = 0;
  for (let k = 0; k < SCRAPES_A_MINUTE; k++) {
    const scrape = minute * SCRAPES_A_MINUTE + k;
    const bodies = [...pods.scrape(scrape, timeOf(scrape), SAMPLES_PER_BODY)].map((body) => compressSync(body));
    if (pace > 0) {
      const dueMs = startedMs + (scrape * SCRAPE_SECONDS * 1000) / pace;
      await systemClock.sleep(Math.max(0, dueMs - systemClock.monotonicMs()));
    }
    const sentMs = systemClock.monotonicMs();
    await Promise.all(connections.map((connection) => sendAll(connection, bodies, waitsMs)));
    busyMs += systemClock.monotonicMs() - sentMs;
  }
  waitsMs.sort((a, b) => a - b);
  const end = timeOf((minute + 1) * SCRAPES_A_MINUTE - 1) / 1000;
  const instantMs = await ask(`query?query=count(container_metric_1_total)&time=${end}`, pods.active / 100);
  const rate = encodeURIComponent('sum by (namespace) (rate(container_metric_7_total[2m]))');
  const rangeMs = await ask(`query_range?query=${rate}&start=${end - 3600}&end=${end}&step=15`);
  print([
    String(minute + 1),
    String(pods.series),
    ((pods.active * SCRAPES_A_MINUTE * 1000) / busyMs).toFixed(0),
    waitsMs[waitsMs.length >> 1].toFixed(1),
    waitsMs[Math.floor(waitsMs.length * 0.99)].toFixed(1),
    instantMs.toFixed(0),
    rangeMs.toFixed(0),
    memoryMib(almanac.pid).toFixed(0),
    peakMemoryMib(almanac.pid).toFixed(0),
  ]);
}
for (const connection of connections) connection.close();
invariant((await almanac.stop()) === 0, 'the server did not end well');
for (const cleanUp of cleanUps) cleanUp();

function timeOf(scrape: number): number {
  return START_MS + scrape * SCRAPE_SECONDS * 1000;
}

/** Takes bodies from the end of the list until there are none. */
async function sendAll(connection: HttpConnection, bodies: Buffer[], waitsMs: number[]): Promise<void> {
  for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
    const content = { contentType: 'application/x-protobuf', bytes: body.length };
    const sentMs = systemClock.monotonicMs();
    const { status, body: answer } = await connection.send(
      requestHead('POST', '/v1/prometheus/write', address, content),
      body,
    );
    invariant(status < 300, `samples were refused: ${status} ${answer.toString()}`);
    waitsMs.push(systemClock.monotonicMs() - sentMs);
  }
}

/** @returns milliseconds. @throws if the answer is not that number, where one is given. */
async function ask(path: string, expected?: number): Promise<number> {
  const askedMs = systemClock.monotonicMs();
  const { status, text: answer } = await almanac.get(`/v1/prometheus/api/v1/${path}`);
  const ms = systemClock.monotonicMs() - askedMs;
  invariant(status === 200, answer.slice(0, 300));
  if (expected !== undefined) invariant(answer.includes(`"${expected}"]`), `not ${expected}: ${answer.slice(0, 300)}`);
  return ms;
}

function print(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell) => cell.padStart(12)).join('  ')}\n`);
}
