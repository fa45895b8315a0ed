import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { invariant } from '#shared/errors/invariant';

import { Almanac } from './almanac.js';
import { watchHealth, type HealthFigures } from './health-watch.js';
import { peakMemoryMib } from './process-figures.js';

const SENDER = new URL('./send-bodies.js', import.meta.url).pathname;
const HOSTS = 1_000;

export interface BigBodiesFigures {
  readonly statuses: readonly number[];
  readonly rowCount: number;
  readonly seconds: number;
  readonly health: HealthFigures;
  readonly peakMemoryMib: number;
}

export interface BigBodiesOptions {
  readonly bodies: number;
  readonly bytesPerBody: number;
  readonly encoding: 'identity' | 'gzip';
}

/** Sends large bodies at once and requests `/health` meanwhile. The bodies hold different rows of table `big`. */
export async function bigBodies(
  folder: string,
  { bodies, bytesPerBody, encoding }: BigBodiesOptions,
): Promise<BigBodiesFigures> {
  let rowCount = 0;
  const paths = Array.from({ length: bodies }, (_, i) => {
    const { bytes, rows } = body(i, bytesPerBody);
    rowCount += rows;
    const path = join(folder, `body-${i}`);
    writeFileSync(path, encoding === 'gzip' ? gzipSync(bytes, { level: 1 }) : bytes);
    return path;
  });
  const almanac = await Almanac.start(join(folder, 'data'));
  await almanac.get('/health');
  const startMs = performance.now();
  let statuses: number[] = [];
  const sending = send(`${almanac.url}/v1/lineproto/write`, encoding, paths).then((answer) => (statuses = answer));
  const health = await watchHealth(almanac.url, sending);
  const seconds = (performance.now() - startMs) / 1000;
  const memoryMib = peakMemoryMib(almanac.pid);
  const { rows } = await almanac.sql('SELECT count(*) FROM big');
  invariant(rows[0]?.[0] === rowCount, `${String(rows[0]?.[0])} rows are there instead of ${rowCount}`);
  invariant((await almanac.stop()) === 0, 'the server did not end well');
  return { statuses, rowCount, seconds, health, peakMemoryMib: memoryMib };
}

function body(number: number, bytesMax: number): { bytes: Buffer; rows: number } {
  // Written at once: half a million strings that are joined later cost seconds of garbage collection.
  const bytes = Buffer.allocUnsafe(bytesMax);
  let length = 0;
  for (let row = 0; ; row++) {
    const tags = `host=host-${row % HOSTS},region=eu-central-1,rack=${row % 12},os=Ubuntu15.10`;
    const fields = `usage=${row % 100}i,idle=${(row % 1000) + 0.25},steal=${row % 7}i,note="some text of usual length"`;
    const line = `big,${tags} ${fields} ${row * 1_000_000 + number}\n`;
    if (length + line.length > bytesMax) return { bytes: bytes.subarray(0, length), rows: row };
    length += bytes.write(line, length, 'latin1');
  }
}

function send(url: string, encoding: string, paths: readonly string[]): Promise<number[]> {
  const child = spawn(process.execPath, [SENDER, url, encoding, ...paths], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(JSON.parse(output) as number[]));
  });
}
