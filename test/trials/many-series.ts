import { parseArgs } from 'node:util';

import { compressSync } from 'snappy';

import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection, requestHead } from '#test/bench/http-connection';
import { Almanac } from '#test/support/almanac';
import { memoryMib, peakMemoryMib } from '#test/support/process-figures';
import { deviceLines, deviceName, metricName, podName, samplesBody } from '#test/support/series-bodies';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- many-series [--metrics 5000000] [--devices 1000000] [--memory 12GiB]`: writes the given number of series by
 * remote write, and of one table by line protocol, one sample each; then a flush, a restart, a write of known series, and
 * queries. Prints time and memory of each step, and the slowest `/health` meanwhile.
 */
const text = { type: 'string' } as const;
const { values: options } = parseArgs({ options: { metrics: text, devices: text, memory: text } });
const metricSeries = Number(options.metrics ?? 5_000_000);
const deviceSeries = Number(options.devices ?? 1_000_000);
const startFlags = { environment: options.memory === undefined ? {} : { ALMANAC_MEMORY__LIMIT: options.memory } };
const BODY_SERIES = 5_000;
const CONNECTIONS = 4;
const STEPS = 10;
const TIME_MS = Math.floor(systemClock.nowMs() / 1000) * 1000;
const HEALTH_REST_MS = 25;
const RETRY_REST_MS = 200;
const MEBIBYTE = 1024 * 1024;
const METRIC_TABLE = 'almanac_physical_table';

interface Kind {
  readonly name: string;
  readonly table: string;
  readonly path: string;
  readonly contentType: string;
  readonly series: number;
  readonly body: (from: number, to: number) => Uint8Array;
}

const metrics: Kind = {
  name: 'metrics',
  table: METRIC_TABLE,
  path: '/v1/prometheus/write',
  contentType: 'application/x-protobuf',
  series: metricSeries,
  body: (from, to) => compressSync(samplesBody(from, to, TIME_MS)),
};
const devices: Kind = {
  name: 'devices',
  table: 'devices',
  path: '/v1/lineproto/write?precision=ms',
  contentType: 'text/plain',
  series: deviceSeries,
  body: (from, to) => deviceLines(from, to, TIME_MS),
};
const kinds = [metrics, devices].filter(({ series }) => series > 0);

const cleanUps: (() => void)[] = [];
const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
let almanac = await Almanac.start(folder, startFlags);
const emptyMib = memoryMib(almanac.pid);
let seriesNow = 0;
let refusals = 0;
process.stdout.write(`without series: ${emptyMib.toFixed(0)} MiB\n`);
print(['step', 'series', 'seconds', 'series/s', 'memory MiB', 'peak MiB', 'bytes/series', 'health ms', 'refused'], '');

for (const kind of kinds) {
  const before = seriesNow;
  for (let step = 0; step < STEPS; step++) {
    const from = Math.floor((kind.series * step) / STEPS);
    const to = Math.floor((kind.series * (step + 1)) / STEPS);
    seriesNow = before + to;
    await measured(`${kind.name} ${step + 1}/${STEPS}`, () => writeAll(kind, from, to), to - from);
  }
}
for (const { name, table } of kinds) await measured(`flush ${name}`, () => almanac.flush(table));
const stoppedMs = systemClock.monotonicMs();
invariant((await almanac.stop()) === 0, 'the server did not end well');
process.stdout.write(`stopped in ${seconds(stoppedMs)} s\n`);
const startedMs = systemClock.monotonicMs();
almanac = await Almanac.start(folder, startFlags);
process.stdout.write(`ready again in ${seconds(startedMs)} s, ${memoryMib(almanac.pid).toFixed(0)} MiB\n`);

for (const kind of kinds) {
  const some = Math.min(BODY_SERIES, kind.series);
  await measured(`known ${kind.name}`, () => writeAll(kind, 0, some));
  await measured(`again`, () => writeAll(kind, 0, some));
}
await ask();
invariant((await almanac.stop()) === 0, 'the server did not end well');
for (const cleanUp of cleanUps) cleanUp();

/** Queries of each kind, the most expensive last. */
async function ask(): Promise<void> {
  const range = `start=${TIME_MS / 1000 - 600}&end=${TIME_MS / 1000 + 600}`;
  const name = metricName(7);
  const ofPod = `{__name__="${name}",pod="${podName(4)}"}`;
  if (metricSeries > 0) {
    await prom('one series', `query?query=${encodeURIComponent(ofPod)}`, 'time');
    await prom('the same', `query?query=${encodeURIComponent(ofPod)}`, 'time');
    await prom('one metric', `query?query=${name}`, 'time');
    await prom('count of a metric', `query?query=${encodeURIComponent(`count({__name__="${name}"})`)}`, 'time');
    await prom('sum by namespace', `query?query=${encodeURIComponent(`sum by (namespace) (${name})`)}`, 'time');
    await prom('labels', `labels?${range}`);
    await prom('names', `label/__name__/values?${range}`);
    await prom('pods', `label/pod/values?${range}`);
    await prom('series of a pod', `series?${range}&match[]=${encodeURIComponent(`{pod="${podName(4)}"}`)}`);
    await prom('series of a metric', `series?${range}&match[]=${name}`);
    await prom('count of all', `query?query=${encodeURIComponent('count({__name__=~"app_.+"})')}`, 'time');
    await prom('one series again', `query?query=${encodeURIComponent(ofPod)}`, 'time');
    await prom('status', 'status/tsdb');
    await sql('SQL count', `SELECT count(*) FROM ${METRIC_TABLE}`);
    await sql('SQL one series', `SELECT * FROM ${METRIC_TABLE} WHERE __name__ = '${name}' AND pod = '${podName(4)}'`);
    await sql('SQL by tag', `SELECT namespace, count(*) FROM ${METRIC_TABLE} GROUP BY namespace`);
  }
  if (deviceSeries > 0) {
    await prom('one device', `query?query=${encodeURIComponent(`devices{device="${deviceName(9)}"}`)}`, 'time');
    await sql('SQL count devices', 'SELECT count(*) FROM devices');
    await sql('SQL one device', `SELECT * FROM devices WHERE device = '${deviceName(9)}'`);
    await sql('SQL by site', 'SELECT site, count(*) FROM devices GROUP BY site');
  }
}

async function prom(what: string, path: string, time?: 'time'): Promise<void> {
  const at = time === undefined ? '' : `&time=${TIME_MS / 1000 + 5}`;
  await measured(what, async () => {
    const { status, text: answer } = await almanac.get(`/v1/prometheus/api/v1/${path}${at}`);
    return status === 200 ? `${answer.length} bytes ${answer.slice(0, 60)}` : `${status} ${answer.slice(0, 200)}`;
  });
}

async function sql(what: string, statement: string): Promise<void> {
  await measured(what, async () => {
    const { status, text: answer, rows } = await almanac.sql(statement);
    return status === 200 ? `${rows.length} rows ${JSON.stringify(rows[0])}` : `${status} ${answer.slice(0, 200)}`;
  });
}

/** Runs a step, with a look at `/health` now and then, and prints what it took. */
async function measured(what: string, work: () => Promise<unknown>, written?: number): Promise<void> {
  let isDone = false;
  let slowestMs = 0;
  const watching = (async (): Promise<void> => {
    while (!isDone) {
      const askedMs = systemClock.monotonicMs();
      await almanac.get('/health');
      slowestMs = Math.max(slowestMs, systemClock.monotonicMs() - askedMs);
      await systemClock.sleep(HEALTH_REST_MS);
    }
  })();
  refusals = 0;
  const beganMs = systemClock.monotonicMs();
  const answer = await work().finally(() => (isDone = true));
  const tookMs = systemClock.monotonicMs() - beganMs;
  await watching;
  const memory = memoryMib(almanac.pid);
  const cells = [what, String(seriesNow), (tookMs / 1000).toFixed(3)];
  cells.push(written === undefined ? '' : ((written * 1000) / tookMs).toFixed(0));
  cells.push(memory.toFixed(0), peakMemoryMib(almanac.pid).toFixed(0));
  cells.push((((memory - emptyMib) * MEBIBYTE) / seriesNow).toFixed(0), slowestMs.toFixed(0), String(refusals));
  print(cells, typeof answer === 'string' ? answer : '');
}

/** Sends a body for each some thousand series, on several connections. */
async function writeAll(kind: Kind, from: number, to: number): Promise<void> {
  const starts: number[] = [];
  for (let at = from; at < to; at += BODY_SERIES) starts.push(at);
  starts.reverse();
  const sendNext = async (): Promise<void> => {
    const address = { host: '127.0.0.1', port: Number(new URL(almanac.url).port) };
    const connection = new HttpConnection(address);
    for (let start = starts.pop(); start !== undefined; start = starts.pop()) {
      const body = kind.body(start, Math.min(start + BODY_SERIES, to));
      const head = requestHead('POST', kind.path, address, { contentType: kind.contentType, bytes: body.length });
      for (;;) {
        const { status, body: answer } = await connection.send(head, body);
        if (status < 300) break;
        invariant(status === 503 || status === 504 || status === 429, `refused: ${status} ${answer.toString()}`);
        refusals++;
        await systemClock.sleep(RETRY_REST_MS);
      }
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendNext));
}

function seconds(sinceMs: number): string {
  return ((systemClock.monotonicMs() - sinceMs) / 1000).toFixed(1);
}

function print([what, ...cells]: readonly string[], answer: string): void {
  process.stdout.write(`${what.padEnd(20)}${cells.map((cell) => cell.padStart(13)).join('')}  ${answer}\n`);
}
