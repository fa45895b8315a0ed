import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

import { decompress, isLoaded } from '@foxglove/wasm-zstd';
import { AsyncByteQueue, CompressionType, compressionRegistry, RecordBatchReader } from 'apache-arrow';
import { decompressFrameSync } from 'lz4-napi';

import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { Almanac } from '#test/support/almanac';
import { memoryMib } from '#test/support/process-figures';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- result-streams [rows]`: streams rows in each format but `table`, which is held in memory, to a reader that is as fast as it can be and to
 * one that pauses. Prints the time to the first byte, the duration and by how much the server's memory grew.
 */
const ROWS = Number(process.argv[2] ?? 5_000_000);
const BATCH = 20_000;
const HOSTS = 500;
const GROWTH_MIB_MAX = 300;
const SAMPLE_MS = 20;
/** A paused reader reads nothing for this long, after its first bytes. */
const PAUSE_MS = 5000;
const FORMATS = [
  'greptimedb_v1',
  'csv',
  'csvWithNames',
  'json',
  'influxdb_v1',
  'arrow',
  'arrow:zstd',
  'arrow:lz4',
  'null',
] as const;

/** Of one buffer of an Arrow stream. */
const BUFFER_BYTES_MAX = 2 ** 24;

await isLoaded;
compressionRegistry.set(CompressionType.ZSTD, { decode: (bytes) => decompress(bytes, BUFFER_BYTES_MAX) });
compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: (bytes) => decompressFrameSync(Buffer.from(bytes)) });

const cleanUps: (() => void)[] = [];
const almanac = await Almanac.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
await almanac.rows(
  'CREATE TABLE metrics (ts TIMESTAMP(3) TIME INDEX, host STRING PRIMARY KEY, a DOUBLE, b DOUBLE, n BIGINT, t STRING)',
);
for (let from = 0; from < ROWS; from += BATCH) {
  const count = Math.min(BATCH, ROWS - from);
  const lines = Array.from({ length: count }, (_, i) => line(from + i)).join('\n');
  await almanac.written(lines, 'precision=ms');
}
await almanac.flush('metrics');
await almanac.rows("ADMIN compact_table('metrics')");

for (const format of FORMATS) {
  // The first run warms up.
  for (const pauseMs of [0, 0, PAUSE_MS]) await measure(format, pauseMs);
}
invariant((await almanac.stop()) === 0, 'the server did not end well');
for (const cleanUp of cleanUps) cleanUp();

function line(i: number): string {
  const ms = 1_700_000_000_000 + Math.floor(i / HOSTS) * 1000;
  return `metrics,host=host-${i % HOSTS} a=${(i % 9973) / 7},b=${i}.5,n=${i}i,t="text ${i % 1000}" ${ms}`;
}

async function measure(format: string, pauseMs: number): Promise<void> {
  const beforeMib = memoryMib(almanac.pid);
  let peakMib = beforeMib;
  const stopped = new AbortController();
  const sampling = sample(stopped.signal, () => (peakMib = Math.max(peakMib, memoryMib(almanac.pid))));
  const { rows, ...figures } = await read(format, pauseMs);
  stopped.abort();
  await sampling;
  invariant(rows === undefined || rows === ROWS, `${format}: ${rows} of ${ROWS} rows`);
  const growthMib = Math.round(peakMib - beforeMib);
  process.stdout.write(
    `${format}${pauseMs > 0 ? ', with a pause' : ''}: ${JSON.stringify({ ...figures, growthMib })}\n`,
  );
  if (growthMib >= GROWTH_MIB_MAX) process.exitCode = 1;
}

interface Reading {
  /** Of formats whose rows can be counted here. */
  readonly rows: number | undefined;
  readonly firstMs: number;
  readonly seconds: number;
  readonly mib: number;
}

async function read(format: string, pauseMs: number): Promise<Reading> {
  const startedMs = systemClock.monotonicMs();
  const query = new URLSearchParams({ sql: 'SELECT * FROM metrics', format }).toString();
  const request = get(`${almanac.url}/v1/sql?${query}`);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  invariant(response.statusCode === 200, `${format}: ${response.statusCode}`);
  let bytes = 0;
  let firstMs = 0;
  const counter = rowCounter(format);
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    if (bytes === 0) {
      firstMs = Math.round(systemClock.monotonicMs() - startedMs);
      await systemClock.sleep(pauseMs);
    }
    bytes += chunk.length;
    counter?.write(chunk);
  }
  const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 10) / 100;
  return { rows: await counter?.end(), firstMs, seconds, mib: Math.round(bytes / 2 ** 20) };
}

interface RowCounter {
  write(chunk: Uint8Array): void;
  end(): Promise<number>;
}

function rowCounter(format: string): RowCounter | undefined {
  if (format.startsWith('arrow')) {
    const source = new AsyncByteQueue();
    const rows = countArrow(source);
    return {
      write: (chunk) => void source.write(chunk),
      end() {
        source.close();
        return rows;
      },
    };
  }
  if (!format.startsWith('csv')) return undefined;
  let lines = format === 'csv' ? 0 : -1;
  return {
    write(chunk) {
      for (const byte of chunk) if (byte === 0x0a) lines++;
    },
    end: () => Promise.resolve(lines),
  };
}

async function countArrow(source: AsyncByteQueue): Promise<number> {
  const reader = await RecordBatchReader.from(source);
  let rows = 0;
  for await (const batch of reader) rows += batch.numRows;
  return rows;
}

async function sample(signal: AbortSignal, take: () => void): Promise<void> {
  while (!signal.aborted) {
    take();
    await systemClock.sleep(SAMPLE_MS, signal).catch(() => undefined);
  }
}
