/** Index of a million series, and selectors over it: `npm run bench -- micro series`. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { SeriesSelection, type LabelTest } from '#services/querier/series/series-selection';
import { compileMatcher, type LabelMatcher } from '#services/querier/series/matcher';
import { systemClock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Column, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { encodeDefinitions, encodeTags } from '#shared/rowbatch/definitions';
import { seriesIndexes } from '#test/support/series-indexes';

const HOSTS = 10_000;
const METRICS = 100;
const HOSTS_PER_PART = 100;
const ROUNDS = 1000;
/** As TSBS names them, with a metric name. */
const LABELS: readonly (readonly [name: string, valueOf: (host: number, metric: number) => string])[] = [
  ['__name__', (_, metric) => `cpu_metric_${metric}`],
  ['hostname', (host) => `host_${host}`],
  ['region', (host) => `region_${host % 9}`],
  ['datacenter', (host) => `datacenter_${host % 27}`],
  ['rack', (host) => `${host % 100}`],
  ['os', (host) => `os_${host % 3}`],
  ['arch', (host) => `arch_${host % 2}`],
  ['team', (host) => `team_${host % 4}`],
  ['service', (host) => `${host % 20}`],
  ['service_version', (host) => `${host % 2}`],
  ['service_environment', (host) => `environment_${host % 3}`],
];

function tableOf(): Table {
  const columns = LABELS.map(([name], i): Column => {
    const rest = { nullable: true, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] };
    return { id: i + 1, name, type: 'String', kind: 'tag', ...rest };
  });
  const ids = { tableId: 1, databaseId: 1, database: 'public', name: 'metrics', schemaVersion: 1, createdMs: 0 };
  const options = { physical_metric_table: 'true' };
  return { ...ids, columns, options, regions: [], primaryKey: [], ttl: '' };
}

/** Returns the definitions of the series of some hosts, as an owner sends them. */
function partOf(firstHost: number): ScanPart {
  const definitions = Array.from({ length: HOSTS_PER_PART * METRICS }, (_, i) => {
    const [host, metric] = [firstHost + Math.floor(i / METRICS), i % METRICS];
    const tags = LABELS.map(([, valueOf], k) => ({ columnId: k + 1, value: Buffer.from(valueOf(host, metric)) }));
    return { tsid: BigInt(firstHost * METRICS + i), tags: encodeTags(tags) };
  });
  const seriesFrom = firstHost * METRICS;
  return {
    seriesFrom,
    seriesTo: seriesFrom + definitions.length,
    definitions: encodeDefinitions(definitions),
  } as ScanPart;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function memoryBytes(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const table = tableOf();
const indexes = seriesIndexes({
  connection: {} as DuckDBConnection,
  files: { absolute: (path) => path },
  clock: systemClock,
  schemaOf: () => table,
});
const emptyBytes = memoryBytes();
const shared = indexes.open(1, table);
let buildMs = 0;
for (let host = 0; host < HOSTS; host += HOSTS_PER_PART) {
  const part = partOf(host);
  const startMs = performance.now();
  await shared.append(part);
  buildMs += performance.now() - startMs;
}
const { index } = shared;
print('series', index.count, '');
print('build', buildMs, 'ms');
print('memory before the first query', (memoryBytes() - emptyBytes) / index.count, 'bytes a series');

function test(matcher: LabelMatcher): LabelTest {
  return {
    name: matcher.name,
    equals: matcher.op === '=' ? matcher.value : undefined,
    passes: compileMatcher(matcher),
  };
}

async function select(...matchers: LabelMatcher[]): Promise<Int32Array> {
  return new SeriesSelection(index, new Slices(systemClock), index.count).matching(matchers.map(test));
}

const firstMs = performance.now();
await select({ name: 'hostname', op: '=', value: 'host_77' });
print('first query for a label', performance.now() - firstMs, 'ms');
for (const [name] of LABELS) await select({ name, op: '=~', value: '.+' });
print('memory with all labels sorted', (memoryBytes() - emptyBytes) / index.count, 'bytes a series');
print('memory as it is counted', index.bytes / index.count, 'bytes a series');

const host = { name: 'hostname', op: '=', value: 'host_7777' } as const;
const metric = { name: '__name__', op: '=', value: 'cpu_metric_50' } as const;
const region = { name: 'region', op: '=', value: 'region_1' } as const;
const rack = { name: 'rack', op: '=', value: '1' } as const;
const hosts = { name: 'hostname', op: '=~', value: 'host_77.*' } as const;
for (const [name, ...matchers] of [
  ['one host', host],
  ['one metric of one host', metric, host],
  ['one metric of one region', metric, region],
  ['one region and rack', region, rack],
  ['hosts by regular expression', hosts],
  ['one metric of hosts by regular expression', metric, hosts],
  ['one metric without a region', metric, { ...region, op: '!=' }],
] as readonly (readonly [string, ...LabelMatcher[]])[]) {
  let found = 0;
  for (let i = 0; i < ROUNDS / 10; i++) found = (await select(...matchers)).length;
  const rounds = matchers.length === 1 && matchers[0] === host ? ROUNDS : ROUNDS / 10;
  const startMs = performance.now();
  for (let i = 0; i < rounds; i++) await select(...matchers);
  print(`${name} (${found} series)`, ((performance.now() - startMs) * 1000) / rounds, 'us');
}

const number = index.label('hostname')?.numberOf('host_7777') ?? 0;
const postings = index.label('hostname')?.postings;
const startMs = performance.now();
for (let i = 0; i < ROUNDS * 100; i++) postings?.of(number, index.count);
print('series of one value', ((performance.now() - startMs) * 1000) / (ROUNDS * 100), 'us');

function print(name: string, value: number, unit: string): void {
  console.log(`${`series index: ${name}`.padEnd(64)} ${value.toFixed(2).padStart(12)} ${unit}`);
}
