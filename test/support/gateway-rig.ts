import { startGateway, type Readiness, type RunningGateway } from '#services/gateway/index';
import type { Protocol } from '#services/gateway/protocols/protocol';
import { PROTOCOLS } from '#services/gateway/protocols/registry';
import { StoredUsers } from '#shared/auth/stored-users';
import { systemClock, type Clock } from '#shared/clock/clock';
import { loadConfig } from '#shared/config/load';
import { API_SECTIONS } from '#services/gateway/config';
import { composeSchema } from '#shared/config/schema';
import { callError, type Call } from '#shared/contracts/call';
import type { Database, Table } from '#shared/contracts/gen/common';
import type {
  PromParseRequest,
  PromQueryRequest,
  PromReadPart,
  PromReadRequest,
  PromSeriesRequest,
  PromText,
  QuerierService,
  SqlEvent,
  SqlParseRequest,
  SqlRequest,
} from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { PipelineDirectory } from '#shared/discovery/pipeline-directory';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet } from '#shared/rowbatch/builder';
import { Metrics } from '#shared/telemetry/metrics';
import { Tracing } from '#shared/telemetry/tracing';
import {
  conflictingRows,
  type RejectedRow,
  type RowWriter,
  type WriteOptions,
  type WriteResult,
} from '#shared/write/writer-types';
import { rowsOf, type PlainRow } from '#test/support/batch-rows';
import { KeptLog } from '#test/support/quiet-log';

const noMetadata = (): Promise<never> => Promise.reject(new AlmanacError('external', 'the rig has no metadata'));
const NO_PIPELINES = new PipelineDirectory(
  { getPipeline: noMetadata, putPipeline: noMetadata, deletePipeline: noMetadata, listPipelines: noMetadata },
  { pipeline: () => undefined, pipelines: () => [], pipelineChanges: 0, reached: () => Promise.resolve() },
);

const NO_DASHBOARDS = { putDashboard: noMetadata, deleteDashboard: noMetadata, listDashboards: noMetadata };

const GIB = 1024 ** 3;

/** Tables in memory: keeps rows, and field types as the first row of a table set them. */
export class MemoryTables implements RowWriter, Catalog {
  readonly version = 1n;
  readonly rows: PlainRow[] = [];
  readonly writes: WriteOptions[] = [];
  readonly #names = new Set(['public', 'other']);
  readonly #types = new Map<string, Map<string, string>>();
  /** What writes wait for. */
  gate: Promise<void> = Promise.resolve();
  /** What writes end with. */
  failure: AlmanacError | undefined = undefined;

  async write(batches: BatchSet, options: WriteOptions, call: Call): Promise<WriteResult> {
    this.writes.push(options);
    await Promise.race([this.gate, ended(call)]);
    if (this.failure !== undefined) throw this.failure;
    const rejected: RejectedRow[] = [];
    const kept = rowsOf(batches).filter((row) => {
      const conflict = this.#conflict(row);
      if (conflict !== undefined) rejected.push(conflict);
      return conflict === undefined;
    });
    this.rows.push(...kept);
    return { rowCount: kept.length, rejected };
  }

  database(name: string): Promise<Database> {
    if (this.#names.has(name)) return Promise.resolve({ databaseId: 1, name, options: {} });
    return Promise.reject(new AlmanacError('database_not_found', `Database not found: ${name}`));
  }

  databases(): Promise<readonly Database[]> {
    return Promise.resolve([...this.#names].map((name) => ({ databaseId: 1, name, options: {} })));
  }

  table(_database: string, name: string): Promise<Table> {
    const types = this.#types.get(name);
    if (types !== undefined) return Promise.resolve(tableOf(name, types));
    return Promise.reject(new AlmanacError('table_not_found', `Table not found: ${name}`));
  }

  tables(): Promise<readonly Table[]> {
    return Promise.resolve([...this.#types].map(([name, types]) => tableOf(name, types)));
  }

  renew(): Promise<void> {
    return Promise.resolve();
  }

  reached(): Promise<void> {
    return Promise.resolve();
  }

  #conflict({ table, fields }: PlainRow): RejectedRow | undefined {
    const types = this.#types.get(table) ?? new Map<string, string>();
    this.#types.set(table, types);
    for (const [column, [given]] of Object.entries(fields)) {
      const existing = types.get(column) ?? given;
      if (existing !== given) return conflictingRows(table, { column, given, existing }, 1);
    }
    for (const [column, [given]] of Object.entries(fields)) types.set(column, given);
    return undefined;
  }
}

/** Rejects when the call is given up. */
function ended({ signal }: Call): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(callError(signal))));
}

function tableOf(name: string, types: ReadonlyMap<string, string>): Table {
  const columns = [...types].map(([column, type], i) => {
    return {
      id: i + 2,
      name: column,
      type,
      kind: 'field',
      nullable: true,
      defaultSql: '',
      comment: '',
      backfillSql: '',
      formerTypes: [],
      indexes: [],
    };
  });
  const common = { tableId: 1, databaseId: 1, database: 'public', schemaVersion: 1, options: {}, regions: [] };
  return { ...common, name, columns, createdMs: 0, primaryKey: [], ttl: '' };
}

/**
 * Answers texts of its own instead of SQL: `rows 3`, `affected 2`, `fail CODE`, `rows 2; fail CODE`, `wait` until the
 * call ends, `bytes 1000`.
 */
export class ScriptedQuerier implements QuerierService {
  readonly requests: SqlRequest[] = [];
  /** Errors that calls ended with. */
  readonly ends: string[] = [];
  readonly promRequests: (PromQueryRequest | PromSeriesRequest | PromParseRequest)[] = [];

  /** Returns the text of the query as JSON, or follows it: `fail CODE`, `wait`. */
  async *promQuery(request: PromQueryRequest, call: Call): AsyncIterable<PromText> {
    yield* this.#prom(request, request.query, call);
  }

  promTable(request: PromQueryRequest, call: Call): AsyncIterable<SqlEvent> {
    this.promRequests.push(request);
    return this.sql({ sql: request.query, database: request.database, timezone: '', format: '', user: '' }, call);
  }

  promSeries(request: PromSeriesRequest, call: Call): AsyncIterable<PromText> {
    return this.#prom(request, request.matches[0] ?? request.name, call);
  }

  /** Returns the text as JSON. */
  async *sqlParse({ sql }: SqlParseRequest): AsyncIterable<PromText> {
    await Promise.resolve();
    yield { text: Buffer.from(JSON.stringify(sql)) };
  }

  promParse(request: PromParseRequest, call: Call): AsyncIterable<PromText> {
    return this.#prom(request, request.query, call);
  }

  /** Returns one part, the name of the database, or follows the value of the first matcher. */
  async *promRead({ database, queries }: PromReadRequest, call: Call): AsyncIterable<PromReadPart> {
    const [word, argument] = (queries[0]?.matchers[0]?.value ?? '').split(' ');
    if (word === 'wait') await this.#wait(call);
    if (word === 'fail') throw new AlmanacError(argument as 'table_not_found', 'as scripted');
    yield { query: 0, data: Buffer.from(database) };
  }

  async *#prom(
    request: PromQueryRequest | PromSeriesRequest | PromParseRequest,
    text: string,
    call: Call,
  ): AsyncIterable<PromText> {
    this.promRequests.push(request);
    const [word, argument] = text.split(' ');
    if (word === 'wait') await this.#wait(call);
    if (word === 'fail') throw new AlmanacError(argument as 'table_not_found', 'as scripted');
    yield { text: Buffer.from(`{"status":"success","data":`) };
    yield { text: Buffer.from(`${JSON.stringify(text)}}`) };
  }

  async *sql(request: SqlRequest, call: Call): AsyncIterable<SqlEvent> {
    this.requests.push(request);
    let statement = 0;
    for (const part of request.sql.split(';')) {
      const [word, argument] = part.trim().split(' ');
      if (word === 'wait') await this.#wait(call);
      else if (word === 'fail') throw new AlmanacError(argument as 'table_not_found', 'as scripted');
      else if (word === 'affected') yield { ...event(statement, 'affected'), affectedRows: Number(argument) };
      else yield* rowEvents(statement, word, Number(argument));
      statement++;
    }
  }

  #wait(call: Call): Promise<never> {
    return new Promise((_, reject) => {
      call.signal.addEventListener('abort', () => {
        const error = AlmanacError.from(call.signal.reason);
        this.ends.push(error.code);
        reject(error);
      });
    });
  }
}

function event(statement: number, kind: string): SqlEvent {
  return { statement, kind, schema: [], text: new Uint8Array(0), rows: 0, affectedRows: 0 };
}

function* rowEvents(statement: number, word: string, count: number): Iterable<SqlEvent> {
  yield { ...event(statement, 'schema'), schema: [{ name: 'n', type: 'Int64' }] };
  if (word === 'bytes') {
    for (let sent = 0; sent < count; sent += 1_000) {
      yield { ...event(statement, 'text'), text: Buffer.from(`["${'x'.repeat(995)}"]`), rows: 1 };
    }
  } else {
    for (let row = 0; row < count; row++) {
      yield { ...event(statement, 'text'), text: Buffer.from(`[${row}]`), rows: 1 };
    }
  }
  yield { ...event(statement, 'end'), rows: count };
}

/** A gateway on free ports with its neighbours in memory. */
export interface GatewayRig {
  readonly gateway: RunningGateway;
  readonly tables: MemoryTables;
  readonly querier: ScriptedQuerier;
  readonly log: KeptLog;
  readonly metrics: Metrics;
  readonly url: string;
  readonly publicUrl: string;
  /** The readiness that `/ready` reports. */
  readiness: Readiness;
  /** Sets the roles that no ready process has. */
  lack(...roles: string[]): void;
}

/**
 * @param environment configuration, such as `ALMANAC_HTTP__TIMEOUT`.
 * @param realQuerier used instead of the scripted one.
 * @param clock the gateway's time.
 */
export async function startGatewayRig(
  environment: Readonly<Record<string, string>> = {},
  realQuerier?: QuerierService,
  clock: Clock = systemClock,
  protocols: readonly Protocol[] = PROTOCOLS,
): Promise<GatewayRig> {
  const { config } = loadConfig({
    schema: composeSchema([...protocols.map((protocol) => protocol.config), ...API_SECTIONS]),
    role: 'standalone',
    flags: [],
    configFile: undefined,
    environment: {
      ALMANAC_HTTP__ADDR: '127.0.0.1:0',
      ALMANAC_HTTP__ENABLE_API_SERVER: 'true',
      ALMANAC_HTTP__API_SERVER_ADDR: '127.0.0.1:0',
      ...environment,
    },
    machine: { memoryBytes: 4 * GIB, containerMemoryBytes: undefined },
    readText: () => undefined,
  });
  const tables = new MemoryTables();
  const querier = new ScriptedQuerier();
  const log = new KeptLog();
  const metrics = new Metrics({ unprefixedProcess: false });
  const state = {
    readiness: { ready: true, waiting: [], progress: 1 } as Readiness,
    lackingRoles: [] as readonly string[],
  };
  const gateway = await startGateway({
    config,
    protocols,
    log,
    metrics,
    clock,
    querier: realQuerier ?? querier,
    writer: tables,
    catalog: tables,
    pipelines: () => NO_PIPELINES,
    savedDashboards: () => NO_DASHBOARDS,
    tickets: () => ({ issueTicket: noMetadata, redeemTicket: noMetadata }),
    storedUsers: () => new StoredUsers(),
    admin: {
      status: () => Promise.resolve(STATUS),
      metrics: async () => ({ contentType: metrics.contentType, text: await metrics.print() }),
      config: () => Promise.resolve({ toml: 'naming = "almanac"\n' }),
      setLogFilter: absent,
      cpuProfile: absent,
      heapProfile: absent,
      setHeapSampling: absent,
      setTracing: absent,
    },
    tracing: noTracing(),
    readiness: () => state.readiness,
    lackingRoles: () => state.lackingRoles,
    writeObstacle: () => (state.readiness.ready ? undefined : 'not ready for writes'),
  });
  return {
    gateway,
    tables,
    querier,
    log,
    metrics,
    url: gateway.httpUrl,
    publicUrl: gateway.publicUrl ?? '',
    get readiness() {
      return state.readiness;
    },
    set readiness(readiness) {
      state.readiness = readiness;
    },
    lack(...roles) {
      state.lackingRoles = roles;
    },
  };
}

const STATUS = {
  role: 'standalone',
  nodeId: 7,
  version: '1.2.3',
  commit: 'c'.repeat(40),
  branch: 'main',
  hostname: 'host',
  nodeVersion: 'v20.0.0',
  startedMs: 1_700_000_000_000,
  state: 'ready',
  waiting: [],
  progress: 1,
};

function absent(): Promise<never> {
  return Promise.reject(new Error('diagnosis needs a real process'));
}

function noTracing(): Tracing {
  return new Tracing({ endpoint: '', headers: {}, sampleRatio: 1, resource: {}, onFailure: () => undefined });
}
