/** Decoding of line protocol on one thread: `npm run bench -- micro lineproto`. */
import { LineDecoder } from '#services/gateway/protocols/lineproto/decode';
import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { LineCache } from '#services/gateway/protocols/lineproto/line-cache';
import { BatchSet } from '#shared/rowbatch/builder';
import { BuilderPool } from '#shared/rowbatch/builder-pool';

const FIELDS = ['user', 'system', 'idle', 'nice', 'iowait', 'irq', 'softirq', 'steal', 'guest', 'guest_nice'];
const MEBIBYTE = 1024 * 1024;

type Random = (below: number) => number;

interface Load {
  readonly name: string;
  readonly seriesCount: number;
  readonly rowsPerBody: number;
  readonly value: (random: Random) => string;
  /** Shares of the time: only decoding, or also making batches as they are sent on. */
  readonly withFinish: boolean;
}

const integer = (random: Random): string => `${random(100)}i`;
const short = (random: Random): string => `${random(100)}.${random(100)}`;
const long = (random: Random): string => `${random(100)}.${String(random(1e8)).padStart(8, '1')}${random(1e8)}`;

const LOADS: readonly Load[] = [
  { name: 'integers, 5,000 rows', seriesCount: 1_000, rowsPerBody: 5_000, value: integer, withFinish: false },
  { name: 'integers, 5,000 rows, finish', seriesCount: 1_000, rowsPerBody: 5_000, value: integer, withFinish: true },
  { name: 'integers, 100 rows, finish', seriesCount: 1_000, rowsPerBody: 100, value: integer, withFinish: true },
  { name: 'short floats, 5,000 rows', seriesCount: 1_000, rowsPerBody: 5_000, value: short, withFinish: false },
  { name: 'long floats, 5,000 rows', seriesCount: 1_000, rowsPerBody: 5_000, value: long, withFinish: false },
  { name: 'integers, 100,000 series', seriesCount: 100_000, rowsPerBody: 5_000, value: integer, withFinish: false },
];

function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

function makeBodies({ seriesCount, rowsPerBody, value }: Load, bodyCount: number): Buffer[] {
  const random = randomFrom(7);
  const hosts = Array.from({ length: seriesCount }, (_, i) => {
    const place = `region=eu-central-${i % 3},datacenter=eu-central-${i % 3}a,rack=${random(100)},os=Ubuntu15.10`;
    const team = `arch=x86,team=SF,service=${random(20)},service_version=${random(2)},service_environment=production`;
    return `cpu,hostname=host_${i},${place},${team} `;
  });
  let row = 0;
  return Array.from({ length: bodyCount }, () => {
    let text = '';
    for (let i = 0; i < rowsPerBody; i++, row++) {
      const time = 1_451_606_400 + 10 * Math.floor(row / seriesCount);
      const fields = FIELDS.map((name) => `usage_${name}=${value(random)}`).join(',');
      text += `${hosts[row % seriesCount]}${fields} ${time}000000000\n`;
    }
    return Buffer.from(text);
  });
}

function decodeAll(bodies: readonly Buffer[], cache: LineCache, pool: BuilderPool, withFinish: boolean): number {
  let rows = 0;
  for (const body of bodies) {
    const batches = new BatchSet(pool);
    const decoder = new LineDecoder(body, { precision: 'ns', nowNs: 0n }, cache, batches);
    while (!decoder.decode(2 * MEBIBYTE)) continue;
    rows += batches.rowCount;
    if (withFinish) for (const table of batches.tables.values()) table.finish(() => 1);
    batches.release();
  }
  return rows;
}

for (const load of LOADS) {
  const totalRows = Math.max(100_000, load.seriesCount);
  const bodies = makeBodies(load, totalRows / load.rowsPerBody);
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
  const cache = new LineCache(new CacheMemory(64 * MEBIBYTE));
  const pool = new BuilderPool(32 * MEBIBYTE);
  for (let round = 0; round < 3; round++) decodeAll(bodies, cache, pool, load.withFinish);
  const times = Array.from({ length: 7 }, () => {
    const startMs = performance.now();
    const rows = decodeAll(bodies, cache, pool, load.withFinish);
    return { ms: performance.now() - startMs, rows };
  }).sort((a, b) => a.ms - b.ms);
  const { ms, rows } = times[3];
  const rate = `${Math.round(rows / ms)} thousand rows/s`;
  console.log(`${load.name.padEnd(32)} ${rate.padStart(26)} ${Math.round(bytes / ms / 1000)} MB/s`);
}
