import { parseArgs } from 'node:util';

import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection, requestHead } from '#test/bench/http-connection';
import { Almanac } from '#test/support/almanac';
import { memoryMib } from '#test/support/process-figures';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- overload [--minutes 5] [--writers 40] [--readers 20] [--limit 1GiB]`: loads a server with ten times the connections that
 * keep it busy (four), writers and readers at once, and checks that it stays within its memory limit, replies to `/health`, loses no
 * acknowledged row and is as quick as before ten seconds later.
 */
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { minutes: text, writers: text, readers: text, limit: text } });
const minutes = Number(values.minutes ?? 5);
const writers = Number(values.writers ?? 40);
const readers = Number(values.readers ?? 20);
const limit = values.limit ?? '1GiB';
const ROWS_PER_BODY = 10_000;
const HOSTS = 1_000;
const SETTLE_MS = 10_000;
const PROBES = 30;
/** Keeps every row, so that a count needs no merge of versions. */
const TABLE =
  'CREATE TABLE load (host STRING PRIMARY KEY, f1 DOUBLE, f2 DOUBLE, f3 BIGINT, almanac_timestamp TIMESTAMP(9) TIME INDEX) ' +
  "WITH (append_mode = 'true')";
const QUERY = 'SELECT host, max(f1), avg(f2) FROM load GROUP BY host ORDER BY host LIMIT 10';

const cleanUps: (() => void)[] = [];
const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
const almanac = await Almanac.start(folder, { environment: { ALMANAC_STANDALONE__MEMORY__LIMIT: limit } });
const address = { host: '127.0.0.1', port: Number(new URL(almanac.url).port) };
const probe = new HttpConnection(address);
void almanac.ended().then((code) => {
  if (code !== 0) process.stderr.write(`the server ended with ${code}: ${almanac.stderr.slice(-4000)}\n`);
});

let acknowledged = 0;
let unknown = 0;
let nextRow = 0;
const replies = new Map<string, number>();

await almanac.rows(TABLE);
await writeOnce(probe);
const before = await medianMs();
let peakMib = 0;
let slowestHealthMs = 0;
const endMs = systemClock.monotonicMs() + minutes * 60_000;
const watch = watchServer();
await Promise.all([
  ...Array.from({ length: writers }, () => loop(writeOnce)),
  ...Array.from({ length: readers }, () => loop(readOnce)),
]);
await watch;
await systemClock.sleep(SETTLE_MS);
const after = await medianMs();
const [[count]] = await almanac.rows('SELECT count(*) FROM load');
const limitMib = limitBytes() / 1024 / 1024;

const figures = [
  ['rows acknowledged', acknowledged],
  ['rows there', Number(count)],
  ['rows of writes without a reply', unknown],
  ['replies', JSON.stringify(Object.fromEntries([...replies].sort()))],
  ['peak memory, MiB', Math.round(peakMib)],
  ['memory limit, MiB', Math.round(limitMib)],
  ['slowest /health, ms', Math.round(slowestHealthMs)],
  ['query before, ms', before.toFixed(1)],
  ['query 10 s after, ms', after.toFixed(1)],
] as const;
for (const [name, value] of figures) process.stdout.write(`${name.padEnd(32)} ${value}\n`);
invariant(Number(count) >= acknowledged && Number(count) <= acknowledged + unknown, 'acknowledged rows are missing');
invariant(peakMib <= limitMib, 'the server took more memory than its limit');
probe.close();
invariant((await almanac.stop()) === 0, 'the server did not end well');
for (const cleanUp of cleanUps) cleanUp();

async function loop(run: (connection: HttpConnection) => Promise<void>): Promise<void> {
  let connection = new HttpConnection(address);
  while (systemClock.monotonicMs() < endMs) {
    try {
      await run(connection);
    } catch {
      replies.set('closed', (replies.get('closed') ?? 0) + 1);
      connection.close();
      connection = new HttpConnection(address);
    }
  }
  connection.close();
}

/** Writes new rows. A refused request is not sent again. */
async function writeOnce(connection: HttpConnection): Promise<void> {
  const lines: string[] = [];
  for (let i = 0; i < ROWS_PER_BODY; i++) {
    const row = nextRow++;
    lines.push(
      `load,host=host_${row % HOSTS} f1=${row % 97},f2=${row % 89}.5,f3=${row % 7}i ${Math.floor(row / HOSTS) + 1}`,
    );
  }
  unknown += ROWS_PER_BODY;
  const body = Buffer.from(lines.join('\n'));
  const content = { contentType: 'text/plain', bytes: body.length };
  const head = requestHead('POST', '/v1/lineproto/write?db=public&precision=s', address, content);
  const { status } = await connection.send(head, body);
  unknown -= ROWS_PER_BODY;
  if (status === 204) acknowledged += ROWS_PER_BODY;
  replies.set(`write ${status}`, (replies.get(`write ${status}`) ?? 0) + 1);
  // As a client that keeps to Retry-After would, but ten times as often.
  if (status !== 204) await systemClock.sleep(100);
}

async function readOnce(connection: HttpConnection): Promise<void> {
  const { status } = await connection.postForm('/v1/sql', { sql: QUERY });
  replies.set(`query ${status}`, (replies.get(`query ${status}`) ?? 0) + 1);
  if (status !== 200) await systemClock.sleep(100);
}

/** Looks at the memory of the server and at the time of `/health`, ten times a second. */
async function watchServer(): Promise<void> {
  while (systemClock.monotonicMs() < endMs) {
    peakMib = Math.max(peakMib, memoryMib(almanac.pid));
    const startMs = systemClock.monotonicMs();
    const { status } = await almanac.get('/health').catch((error: unknown) => {
      throw new Error(`no reply: ${almanac.stderr.slice(-4000)}`, { cause: error });
    });
    invariant(status === 200, `/health replied ${status}`);
    slowestHealthMs = Math.max(slowestHealthMs, systemClock.monotonicMs() - startMs);
    await systemClock.sleep(100);
  }
}

async function medianMs(): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < PROBES; i++) {
    const startMs = systemClock.monotonicMs();
    const sql = "SELECT max(f1) FROM load WHERE host = 'host_77' AND almanac_timestamp < 100000000000";
    const { status, body } = await probe.postForm('/v1/sql', { sql });
    invariant(status === 200, `the query got ${status} ${body.toString()}: ${almanac.stderr.slice(-4000)}`);
    times.push(systemClock.monotonicMs() - startMs);
  }
  return times.sort((a, b) => a - b)[PROBES >> 1];
}

function limitBytes(): number {
  const [, number = '1', unit = 'GiB'] = /^([0-9.]+)(GiB|MiB)$/.exec(limit) ?? [];
  return Number(number) * 1024 ** (unit === 'GiB' ? 3 : 2);
}
