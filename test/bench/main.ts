import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { invariant } from '#shared/errors/invariant';
import { measureIngest, runLoader, runProgram, type IngestFigures } from './ingest.js';
import { measureBeside, type BesideFigures, type BesidePlan } from './beside.js';
import { measureCluster, type ClusterFigures, type ClusterPlan } from './cluster.js';
import { measurePlain, type PlainFigures } from './plain.js';
import { measureClients, measureFirst, measureForms, measureQueries } from './query.js';
import {
  print,
  printBeside,
  printCluster,
  printIngest,
  printLate,
  printPlain,
  printTsbs,
  printSearch,
  writeResults,
  type TsbsFigures,
} from './report.js';
import { measureRemoteWrite, type RemoteWritePlan } from './remote-write/measure.js';
import { PROTOCOL_LOADS } from './protocols/bodies.js';
import { measureClickHouse } from './protocols/clickhouse.js';
import { measureProtocols } from './protocols/measure.js';
import { PIPELINE_LOADS } from './protocols/pipeline-loads.js';
import { runMicroBenchmarks } from './micro/main.js';
import { measurePanels, type PromqlFigures } from './promql/measure.js';
import { printPanels } from './promql/report.js';
import {
  almanac,
  almanacMetrics,
  influxdb,
  prometheus,
  victoriaMetrics,
  victoriaMetricsRemoteWrite,
} from './server-kinds.js';
import { measureSearch } from './search/measure.js';
import { RunningServer, type MetricServerKind, type ServerKind, type TsbsServerKind } from './server.js';
import { generate, rowCount, STEP_SECONDS, type TsbsShape } from './tsbs/generator.js';
import type { Lateness } from './tsbs/late-order.js';
import { ensureLinesFile } from './tsbs/lines-file.js';

const USAGE = `npm run bench -- [scenario..] [flags]

Scenarios (default: ingest query)
  ingest   1,000 hosts x 6 h in requests of 5,000 lines
  small    the same rows in requests of 100 lines
  wide     4,000 hosts x 1 h in requests of 5,000 lines
  late     the rows of ingest, 10 % of them half an hour or three hours late, and 5 % twice
  remote-write   Prometheus remote write 1.0 of 20 node exporters, a sample each 15 s, 2,000 samples a request
  promql   10 panels of a dashboard over 20 node exporters x 6.5 h
  protocols      400,000 records by each other protocol: OTLP, Loki, Splunk HEC, Elasticsearch bulk
  pipelines      400,000 lines of an access log through dissect, date and types, and JSON lines through identity
  search   words in 20 million lines of an access log, with each index and by a plain scan
  query    the 15 TSBS cpu-only kinds over 500 hosts x 12 h
  beside   small queries, health checks and writes while a query over all series is repeated, 1,000 hosts x 12 h
  plain    whole-table statements over the same rows, beside the engine on the same files
  micro [PART]   the hot modules alone, those whose path contains PART
  cluster  the same rows and kinds, through 1 gateway, 2 ingesters, 1 querier and 1 metadata beside one process
  peers    runs the other scenarios on VictoriaMetrics, InfluxDB and Prometheus too, where they can
  all      everything

Flags
  --hosts N --hours N --batch N --connections N   instead of the scenario's own (remote-write: hosts are exporters)
  --state flushed|mixed|fresh   what the queries read (default flushed)
  --late                        the rows of query with late and repeated ones, as in late
  --records N                   of each protocol (default 400000)
  --protocols a,b               of otlp-metrics, otlp-logs, otlp-traces, loki, splunk, elasticsearch
  --servers a,b                 of almanac, victoria-metrics, influxdb, prometheus, clickhouse (pipelines)
  --runs N                      repeats of each load; the median is shown (default 1)
  --port N                      first of two ports for the servers (default 4120)
  --name NAME                   of the results file (default: the scenarios)
`;

interface Scenario {
  readonly hosts: number;
  readonly hours: number;
  readonly batch: number;
  /** Delays of late rows in hours: every tenth row is late, and every twentieth is repeated. */
  readonly lateHours?: readonly number[];
}

const LOADS: Readonly<Record<string, Scenario>> = {
  ingest: { hosts: 1000, hours: 6, batch: 5000 },
  small: { hosts: 1000, hours: 6, batch: 100 },
  wide: { hosts: 4000, hours: 1, batch: 5000 },
  late: { hosts: 1000, hours: 6, batch: 5000, lateHours: [0.5, 3] },
};
const REMOTE_WRITE: Scenario = { hosts: 20, hours: 3, batch: 2000 };
const QUERY: Scenario = { hosts: 500, hours: 12, batch: 5000 };
const BESIDE: Scenario = { hosts: 1000, hours: 12, batch: 5000 };
const PROMQL: Scenario = { hosts: 20, hours: 6.5, batch: 2000 };
const LATE_SHARES = { late: 0.1, repeated: 0.05 };
const TSBS_SERVERS: readonly TsbsServerKind[] = [almanac, victoriaMetrics, influxdb];
const METRIC_SERVERS: readonly MetricServerKind[] = [almanacMetrics, victoriaMetricsRemoteWrite, prometheus];
const CLICKHOUSE = 'clickhouse';
const SERVER_NAMES = [...new Set([...TSBS_SERVERS, ...METRIC_SERVERS].map(({ name }) => name)), CLICKHOUSE];
const STATES = ['flushed', 'mixed', 'fresh'] as const;
type State = (typeof STATES)[number];
const SEED = 1;
const RECORDS = 400_000;
const SEARCHED_LINES = 20_000_000;

interface Options {
  readonly scenarios: readonly string[];
  /** Names. */
  readonly servers: readonly string[];
  readonly state: State;
  readonly isLate: boolean;
  readonly runs: number;
  readonly port: number;
  readonly connections: number;
  /** Records of each protocol, and the protocols; none for all. */
  readonly records: number;
  readonly protocols: readonly string[];
  readonly name: string;
  /** What flags say instead of a scenario's own sizes. */
  readonly sizes: Partial<Scenario>;
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options === undefined) {
    print(USAGE);
    return;
  }
  const loads: Record<string, readonly IngestFigures[]> = {};
  for (const name of options.scenarios.filter((scenario) => scenario in LOADS)) {
    const scenario = { ...LOADS[name], ...options.sizes };
    const figures: IngestFigures[] = [];
    for (const kind of chosen(TSBS_SERVERS, options)) figures.push(await medianLoad(kind, scenario, options));
    loads[name] = figures;
    printIngest(`${name}: ${title(scenario)}, ${options.connections} connections`, figures);
    if (name === 'late' && loads['ingest'] !== undefined) printLate(loads['ingest'][0], figures[0]);
  }

  if (options.scenarios.includes('remote-write')) {
    const scenario = { ...REMOTE_WRITE, ...options.sizes };
    const figures: IngestFigures[] = [];
    for (const kind of chosen(METRIC_SERVERS, options)) {
      figures.push(
        await medianRemoteWrite(kind, { ...scenario, ...options, ...connectionsTo(kind, options), seed: SEED }),
      );
    }
    loads['remote-write'] = figures;
    printIngest(
      `remote-write: ${scenario.hosts} targets x ${scenario.hours} h, ${options.connections} connections`,
      figures,
    );
  }

  await measureLogs(options, loads);

  const panels: PromqlFigures[] = [];
  if (options.scenarios.includes('promql')) {
    const scenario = { ...PROMQL, ...options.sizes };
    for (const kind of chosen(METRIC_SERVERS, options)) panels.push(await loadAndAskPanels(kind, scenario, options));
    printPanels(`promql: ${scenario.hosts} targets x ${scenario.hours} h, ${options.state}`, panels);
  }

  const queries = new Map<string, TsbsFigures>();
  if (options.scenarios.includes('query')) {
    const scenario = { ...QUERY, ...options.sizes };
    for (const kind of chosen(TSBS_SERVERS, options)) {
      queries.set(kind.name, await loadAndQuery(kind, scenario, options));
    }
    const order = options.isLate ? ', 10 % late and 5 % repeated' : '';
    printTsbs(`query: ${title(scenario)}, ${options.state}${order}`, queries);
  }
  const large = await measureLarge(options);
  writeResults(options.name, options, { ...large, loads, panels, queries: Object.fromEntries(queries) });
}

/** Measures large queries: beside other work, beside the plain engine, and in a cluster. */
async function measureLarge(options: Options): Promise<object> {
  const beside: BesideFigures[] = [];
  if (options.scenarios.includes('beside')) {
    const scenario = { ...BESIDE, ...options.sizes };
    for (const kind of chosen(TSBS_SERVERS, options)) beside.push(await measureBeside(kind, planOf(scenario, options)));
    printBeside(`beside: ${title(scenario)}, ${options.connections} connections`, beside);
  }
  let plain: readonly PlainFigures[] = [];
  if (options.scenarios.includes('plain')) {
    const scenario = { ...QUERY, ...options.sizes };
    plain = await loadAndReadPlainly(scenario, options);
    printPlain(`plain: ${title(scenario)}, flushed`, plain);
  }
  let cluster: ClusterFigures | undefined;
  if (options.scenarios.includes('cluster')) {
    const scenario = { ...QUERY, ...options.sizes };
    cluster = await measureCluster(clusterPlan(scenario, options));
    printCluster(`cluster: ${title(scenario)}, ${options.connections} connections, flushed`, cluster);
  }
  return { beside, cluster, plain };
}

/** Measures protocols of logs and traces, pipelines and searches. */
async function measureLogs(options: Options, loads: Record<string, readonly IngestFigures[]>): Promise<void> {
  if (options.scenarios.includes('protocols')) {
    const figures = await measureProtocols({ ...options, loads: PROTOCOL_LOADS, seed: SEED });
    loads['protocols'] = figures;
    printIngest(`protocols: ${options.records} records, ${options.connections} connections`, figures, false);
  }
  if (options.scenarios.includes('pipelines')) {
    const plan = { ...options, loads: PIPELINE_LOADS, seed: SEED };
    const figures = await measureProtocols(plan);
    if (options.servers.includes(CLICKHOUSE)) figures.push(await measureClickHouse(plan));
    loads['pipelines'] = figures;
    printIngest(`pipelines: ${options.records} lines, ${options.connections} connections`, figures, false);
  }

  if (options.scenarios.includes('search')) {
    const lines = options.records === RECORDS ? SEARCHED_LINES : options.records;
    const figures = await measureSearch({ ...options, lines, seed: SEED });
    printSearch(`search: ${lines} lines, ${options.connections} connections`, figures);
    writeResults(`${options.name}-figures`, options, figures);
  }
}

function connectionsTo(
  { connectionsMax = Infinity }: MetricServerKind,
  { connections }: Options,
): { connections: number } {
  return { connections: Math.min(connections, connectionsMax) };
}

function chosen<K extends ServerKind>(kinds: readonly K[], { servers }: Options): readonly K[] {
  return kinds.filter(({ name }) => servers.includes(name));
}

/** @returns nothing if the usage is to be shown. */
function readOptions(): Options | undefined {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      hosts: text,
      hours: text,
      batch: text,
      connections: { ...text, default: '4' },
      state: text,
      late: { type: 'boolean', default: false },
      servers: text,
      records: { ...text, default: String(RECORDS) },
      protocols: { ...text, default: '' },
      runs: { ...text, default: '1' },
      port: { ...text, default: '4120' },
      name: text,
    },
  });
  if (values.help === true) return undefined;
  const known = [
    ...Object.keys(LOADS),
    'remote-write',
    'protocols',
    'pipelines',
    'search',
    'promql',
    'query',
    'beside',
    'plain',
    'cluster',
    'peers',
    'all',
  ];
  for (const name of positionals) invariant(known.includes(name), `unknown scenario "${name}", see --help`);
  const isAll = positionals.includes('all');
  const named = positionals.filter((name) => name !== 'peers');
  const scenarios = isAll
    ? [...Object.keys(LOADS), 'remote-write', 'protocols', 'pipelines', 'promql', 'query']
    : named.length > 0
      ? named
      : ['ingest', 'query'];
  const wanted = values.servers?.split(',');
  const withPeers = isAll || positionals.includes('peers');
  const servers = SERVER_NAMES.filter((name) =>
    wanted === undefined ? withPeers || name === almanac.name : wanted.includes(name),
  );
  const state = STATES.find((candidate) => candidate === (values.state ?? 'flushed'));
  invariant(servers.length > 0 && state !== undefined, 'unknown server or state, see --help');
  const sizes = Object.fromEntries(
    (['hosts', 'hours', 'batch'] as const).flatMap((key) =>
      values[key] === undefined ? [] : [[key, Number(values[key])]],
    ),
  );
  return {
    scenarios,
    servers,
    state,
    isLate: values.late,
    sizes,
    runs: Number(values.runs),
    port: Number(values.port),
    connections: Number(values.connections),
    records: Number(values.records),
    protocols: values.protocols.split(',').filter((protocol) => protocol !== ''),
    name: values.name ?? `${withPeers ? 'peers-' : ''}${isAll ? 'all' : scenarios.join('-')}`,
  };
}

function clusterPlan(scenario: Scenario, options: Options): ClusterPlan {
  const plan = planOf(scenario, options);
  return { ...plan, from: 0, to: plan.rows, data: generate(plan.shape) };
}

function planOf({ batch, ...scenario }: Scenario, { connections, port }: Options): BesidePlan {
  const shape = shapeOf({ ...scenario, batch });
  return { file: ensureLinesFile(shape), shape, rows: rowCount(shape), batch, connections, port };
}

function medianLoad(kind: ServerKind, scenario: Scenario, options: Options): Promise<IngestFigures> {
  const shape = shapeOf(scenario);
  const file = ensureLinesFile(shape);
  const { batch, lateHours } = scenario;
  const whole = { file, from: 0, to: rowCount(shape), batch, connections: options.connections };
  const plan = lateHours === undefined ? whole : { ...whole, lateness: latenessOf(scenario, lateHours) };
  return median(kind, options, (server) => measureIngest(server, plan));
}

function latenessOf(scenario: Scenario, hours: readonly number[]): Lateness {
  const delays = hours.map((each) => (each * 3600 * scenario.hosts) / STEP_SECONDS);
  return { ...LATE_SHARES, delays, seed: SEED };
}

function medianRemoteWrite(kind: MetricServerKind, plan: RemoteWritePlan & Options): Promise<IngestFigures> {
  return median(kind, plan, (server) => measureRemoteWrite(server, plan));
}

/** Loads into fresh servers, one after the other; the run with the median of rows/s stands for all. */
async function median(
  kind: ServerKind,
  options: Options,
  measure: (server: RunningServer) => Promise<IngestFigures>,
): Promise<IngestFigures> {
  const figures: IngestFigures[] = [];
  for (let run = 0; run < options.runs; run++) {
    const server = await RunningServer.start(kind, options.port);
    try {
      figures.push(await measure(server));
    } finally {
      await server.stop();
    }
  }
  figures.sort((a, b) => a.rowsPerSecond - b.rowsPerSecond);
  return figures[Math.floor(figures.length / 2)];
}

async function loadAndAskPanels(kind: MetricServerKind, scenario: Scenario, options: Options): Promise<PromqlFigures> {
  const server = await RunningServer.start(kind, options.port);
  const { port } = server;
  const { hosts, hours, batch } = scenario;
  const plan = { hosts, hours, batch, port, path: kind.writePath, ...connectionsTo(kind, options), seed: SEED };
  try {
    const { errors, firstError } = await runProgram('remote-write/loader.js', plan);
    invariant(errors === 0, `samples were refused: ${firstError}`);
    if (options.state === 'flushed') await server.flush();
    const cpuSeconds = (): number => server.cpuSeconds();
    return await measurePanels({ server: kind.name, port, prefix: kind.promPrefix, cpuSeconds }, scenario.hours);
  } finally {
    await server.stop();
  }
}

async function loadAndQuery(kind: TsbsServerKind, scenario: Scenario, options: Options): Promise<TsbsFigures> {
  const shape = shapeOf(scenario);
  const file = ensureLinesFile(shape);
  const data = generate(shape);
  const server = await RunningServer.start(kind, options.port);
  const rows = rowCount(shape);
  const target = { port: server.port, path: kind.writePath };
  const load = async (from: number, to: number): Promise<void> => {
    const { errors, firstError } = await runLoader(target, {
      file,
      from,
      to,
      ...scenario,
      connections: options.connections,
    });
    invariant(errors === 0, `rows were refused: ${firstError}`);
  };
  const loadLate = async (): Promise<void> => {
    const lateness = latenessOf(scenario, [0.5, 3]);
    const plan = { file, from: 0, to: rows, ...scenario, connections: options.connections, lateness };
    const { errors, firstError } = await runLoader(target, plan);
    invariant(errors === 0, `rows were refused: ${firstError}`);
  };
  try {
    if (options.isLate) await loadLate();
    else await load(0, Math.floor(rows / 2));
    if (options.state === 'mixed') await server.flush();
    if (!options.isLate) await load(Math.floor(rows / 2), rows);
    if (options.state === 'flushed') {
      await server.flush();
      await server.compact();
    }
    const kinds = await measureQueries(server, data);
    const clients = await measureClients(server, data);
    const forms = kind === almanac ? await measureForms(server) : [];
    const firstMs = await measureFirst(server, data);
    return { kinds, clients, forms, firstMs };
  } finally {
    await server.stop();
  }
}

async function loadAndReadPlainly(scenario: Scenario, options: Options): Promise<readonly PlainFigures[]> {
  const shape = shapeOf(scenario);
  const server = await RunningServer.start(almanac, options.port);
  try {
    const plan = { file: ensureLinesFile(shape), from: 0, to: rowCount(shape), batch: scenario.batch };
    const target = { port: server.port, path: almanac.writePath };
    const { errors, firstError } = await runLoader(target, { ...plan, connections: options.connections });
    invariant(errors === 0, `rows were refused: ${firstError}`);
    await server.flush();
    return await measurePlain(server.port, join(server.dataFolder, 'store'));
  } finally {
    await server.stop();
  }
}

function shapeOf(scenario: Scenario): TsbsShape {
  return { hosts: scenario.hosts, steps: Math.round((scenario.hours * 3600) / STEP_SECONDS), seed: SEED };
}

function title(scenario: Scenario): string {
  const rows = rowCount(shapeOf(scenario)).toLocaleString('en-US');
  return `${scenario.hosts} hosts x ${scenario.hours} h (${rows} rows), ${scenario.batch} lines a request`;
}

const [scenario, part] = process.argv.slice(2);
await (scenario === 'micro' ? runMicroBenchmarks(part ?? '') : main());
