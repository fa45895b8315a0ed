import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#shared/clock/clock';
import { BESIDE_BOUNDS, type BesideFigures, type Latencies } from './beside.js';
import { BOUND, type ClusterFigures } from './cluster.js';
import type { IngestFigures } from './ingest.js';
import type { PlainFigures } from './plain.js';
import type { ClientFigures, FormFigures, QueryFigures } from './query.js';
import type { SearchFigures, SearchLoad } from './search/measure.js';
import { REPOSITORY_ROOT } from './server-kinds.js';

/** Columns of the table of loads; the ratio of a peer is Almanac's figure over the peer's. */
const INGEST_COLUMNS: readonly (readonly [title: string, cell: (figures: IngestFigures) => string])[] = [
  ['server', (f) => f.server],
  ['rows/s', (f) => whole(f.rowsPerSecond)],
  ['values/s', (f) => whole(f.valuesPerSecond)],
  ['rows/CPU s', (f) => whole(f.rowsPerCpuSecond)],
  ['with flush', (f) => whole(f.rowsPerCpuSecondWithFlush)],
  ['peak MiB', (f) => whole(f.peakMemoryMiB)],
  ['with flush', (f) => whole(f.peakMemoryWithFlushMiB)],
  ['bytes/value', (f) => f.bytesPerValue.toFixed(3)],
  ['merged', (f) => f.compactedBytesPerValue.toFixed(3)],
  ['p50 ms', (f) => f.p50Ms.toFixed(1)],
  ['p99 ms', (f) => f.p99Ms.toFixed(1)],
  ['flush s', (f) => f.flushSeconds.toFixed(1)],
  ['errors', (f) => whole(f.errors)],
  ['retries', (f) => whole(f.retries)],
];

/** @param areComparable whether the others are peers of the first. */
export function printIngest(title: string, all: readonly IngestFigures[], areComparable = true): void {
  const table = [
    INGEST_COLUMNS.map(([name]) => name),
    ...all.map((figures) => INGEST_COLUMNS.map(([, cell]) => cell(figures))),
  ];
  printTable(title, table);
  for (const { server, firstError } of all) if (firstError !== '') print(`${server}: ${firstError}`);
  if (!areComparable) return;
  const [first, ...peers] = all;
  for (const peer of peers) {
    const ratios = [
      `rows/s ${ratio(first.rowsPerSecond, peer.rowsPerSecond)}`,
      `rows/CPU s ${ratio(first.rowsPerCpuSecond, peer.rowsPerCpuSecond)}`,
      `peak memory ${ratio(first.peakMemoryWithFlushMiB, peer.peakMemoryWithFlushMiB)}`,
      `bytes/value ${ratio(first.bytesPerValue, peer.bytesPerValue)}`,
    ];
    print(`${first.server} / ${peer.server}: ${ratios.join(', ')}`);
  }
}

/** Prints what small requests and writes cost while a large query runs. */
export function printBeside(title: string, all: readonly BesideFigures[]): void {
  const latencies = ({ p50Ms, p99Ms, maxMs, count }: Latencies): string => {
    return `${ms(p50Ms)} / ${ms(p99Ms)} / ${ms(maxMs)} (${whole(count)})`;
  };
  const rows: readonly (readonly [string, (figures: BesideFigures) => string])[] = [
    ['p50 / p99 / max ms (requests)', ({ server }) => server],
    ['large query', ({ large }) => latencies(large)],
    ['small query beside writes', ({ smallBesideWrites }) => latencies(smallBesideWrites)],
    ['small query beside both', ({ small }) => latencies(small)],
    ['health check beside both', ({ health }) => latencies(health)],
    ['rows/s alone', ({ aloneRowsPerSecond }) => whole(aloneRowsPerSecond)],
    ['rows/s beside queries', ({ besideRowsPerSecond }) => whole(besideRowsPerSecond)],
    ['share', (it) => (it.besideRowsPerSecond / it.aloneRowsPerSecond).toFixed(2)],
  ];
  printTable(
    title,
    rows.map(([name, cell]) => [name, ...all.map(cell)]),
  );
  const { smallP99Ms, healthMs, ingestShare } = BESIDE_BOUNDS;
  for (const { server, small, health, besideRowsPerSecond, aloneRowsPerSecond } of all) {
    const isOver = [
      small.p99Ms > smallP99Ms ? [`small queries: p99 over ${smallP99Ms} ms`] : [],
      health.maxMs > healthMs ? [`health checks: over ${healthMs} ms`] : [],
      besideRowsPerSecond < ingestShare * aloneRowsPerSecond ? [`writes: under ${ingestShare} of their rate`] : [],
    ].flat();
    print(`${server}: ${isOver.length === 0 ? 'within the bounds' : isOver.join('; ')}`);
  }
}

export function printCluster(title: string, figures: ClusterFigures): void {
  const rows = figures.kinds.map(({ kind, count, clusterP50Ms, standaloneP50Ms, problem }) => {
    const boundMs = BOUND.factor * standaloneP50Ms + BOUND.ms;
    const verdict = clusterP50Ms <= boundMs ? '' : 'OVER';
    return [kind, ms(clusterP50Ms), ms(standaloneP50Ms), ms(boundMs), verdict, whole(count), problem];
  });
  printTable(title, [
    ['kind, p50 ms', 'cluster', 'one process', `x ${BOUND.factor} + ${BOUND.ms}`, '', 'queries', ''],
    ...rows,
  ]);
  const { clusterRowsPerSecond, standaloneRowsPerSecond } = figures;
  print(`rows/s: cluster ${whole(clusterRowsPerSecond)}, one process ${whole(standaloneRowsPerSecond)}`);
}

/** Compares the cost of late and repeated rows with that of rows in order. */
export function printLate(inOrder: IngestFigures, late: IngestFigures): void {
  const pairs = [
    `rows/s ${ratio(late.rowsPerSecond, inOrder.rowsPerSecond)}`,
    `rows/CPU s with flush ${ratio(late.rowsPerCpuSecondWithFlush, inOrder.rowsPerCpuSecondWithFlush)}`,
  ];
  print(`late / in order: ${pairs.join(', ')}`);
}

/** Prints searches with each index beside a plain scan of the same lines. */
export function printSearch(
  title: string,
  { loads, searches }: { loads: SearchLoad[]; searches: SearchFigures[] },
): void {
  const rows = loads.map((load) => [
    load.backend,
    whole(load.rowsPerSecond),
    load.bytesPerLine.toFixed(1),
    load.seconds.toFixed(0),
  ]);
  printTable(title, [['index', 'lines/s', 'bytes a line, merged', 'seconds until merged'], ...rows]);
  const times = searches.map(({ search, count, p50Ms: { bloom, inverted, plain } }) => {
    return [search, whole(count), ms(bloom), ms(inverted), ms(plain), ratio(plain, bloom), ratio(plain, inverted)];
  });
  const head = ['p50 ms', 'result', 'bloom', 'inverted', 'plain scan', 'plain/bloom', 'plain/inverted'];
  printTable('searches', [head, ...times]);
}

export function printPlain(title: string, all: readonly PlainFigures[]): void {
  const rows = all.map(({ question, almanacP50Ms, directP50Ms }) => [
    question,
    ms(almanacP50Ms),
    ms(directP50Ms),
    ratio(almanacP50Ms, directP50Ms),
  ]);
  printTable(title, [['p50 ms', 'almanac', 'engine on its files', 'ratio'], ...rows]);
}

/** Figures of the TSBS queries of one server. */
export interface TsbsFigures {
  readonly kinds: readonly QueryFigures[];
  readonly clients: ClientFigures;
  readonly forms: readonly FormFigures[];
  /** Latency of the first query of each kind after a restart. */
  readonly firstMs: Partial<Record<QueryFigures['kind'], number>>;
}

/** Prints the queries of all servers. */
export function printTsbs(title: string, all: ReadonlyMap<string, TsbsFigures>): void {
  printQueries(title, new Map(Array.from(all, ([server, { kinds }]) => [server, kinds])));
  const [first, ...peers] = all.values();
  for (const [name, { kinds }] of [...all].slice(1)) {
    const logs = kinds.map(({ p50Ms }, i) => Math.log(p50Ms / first.kinds[i].p50Ms));
    print(`geometric mean of ${name}: ${Math.exp(logs.reduce((sum, it) => sum + it, 0) / logs.length).toFixed(2)}x`);
  }
  for (const [name, { clients: it }] of all) {
    const figures = `${whole(it.queriesPerSecond)} queries/s, p99 ${ms(it.p99Ms)} ms, ${it.cpuMsPerQuery.toFixed(2)} CPU ms each`;
    print(`${name}, single-groupby-1-1-1, ${it.clients} clients: ${figures}`);
  }
  for (const { form, p50Ms, rows } of first.forms) print(`${form}: p50 ${ms(p50Ms)} ms, ${rows} rows`);
  const rows = first.kinds.map(({ kind }) => {
    const times = [first, ...peers].map(({ firstMs }) => firstMs[kind] ?? NaN);
    return [kind, ...times.map(ms), ...times.slice(1).map((time) => ratio(times[0], time))];
  });
  const names = [...all.keys()];
  const head = ['first query after a restart', ...names, ...names.slice(1).map((name) => `${names[0]}/${name}`)];
  printTable('first queries, ms', [head, ...rows]);
}

/** Kinds down, servers across: p50 / p95 / max of each, and the ratio of p50 to the first server's. */
function printQueries(title: string, all: ReadonlyMap<string, readonly QueryFigures[]>): void {
  const servers = [...all.keys()];
  const [first, ...peers] = servers;
  const head = [
    'kind',
    ...servers.map((name) => `${name} p50/p95/max ms`),
    ...peers.map((name) => `p50 ${first}/${name}`),
  ];
  const kinds = [...new Set([...all.values()].flat().map((figures) => figures.kind))];
  const rows = kinds.map((kind) => {
    const [own, ...others] = servers.map((name) => all.get(name)?.find((figures) => figures.kind === kind));
    const cells = [own, ...others].map((f) =>
      f === undefined ? '-' : `${ms(f.p50Ms)} / ${ms(f.p95Ms)} / ${ms(f.maxMs)}`,
    );
    const ratios = others.map((f) => (f === undefined || own === undefined ? '-' : ratio(own.p50Ms, f.p50Ms)));
    return [kind, ...cells, ...ratios];
  });
  printTable(title, [head, ...rows]);
  for (const [server, figures] of all) {
    for (const { kind, problem } of figures) if (problem !== '') print(`WRONG ${server} ${kind}: ${problem}`);
  }
}

/** Writes what a run measured to `test/bench/results/<name>.json`, with the machine it ran on. */
export function writeResults(name: string, options: object, figures: object): void {
  const folder = join(REPOSITORY_ROOT, 'test', 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const machine = {
    cpu: cpus()[0].model,
    cores: cpus().length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    node: process.version,
  };
  const measuredAt = new Date(systemClock.nowMs()).toISOString();
  const path = join(folder, `${name}.json`);
  writeFileSync(path, `${JSON.stringify({ measuredAt, machine, options, ...figures }, rounded, 2)}\n`);
  print(`\nresults: ${path}`);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function printTable(title: string, table: readonly (readonly string[])[]): void {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  print(`\n${title}`);
  for (const row of table) {
    print(row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '));
  }
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function ms(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

export function ratio(own: number, peer: number): string {
  return `${(own / peer).toFixed(2)}x`;
}
