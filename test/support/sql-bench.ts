import { DuckDBInstance } from '@duckdb/node-api';

import { systemClock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { Column, Database, Table } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import type { CreateTableRequest, MetadataService } from '#shared/contracts/gen/metadata';
import type { SqlEvent, SqlRequest } from '#shared/contracts/gen/querier';
import type { ViewCatalog } from '#shared/discovery/catalog';
import type { Views } from '#shared/discovery/view-cache';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType } from '#shared/schema/data-type';
import { metricNames } from '#shared/schema/metric-table';
import { openLog } from '#shared/telemetry/log';
import type { CellValue } from '#shared/write/cell-value';
import { Admission } from '#services/querier/run/admission';
import { MemoryWatch } from '#services/querier/run/memory-watch';
import { ProcessDirectory } from '#services/querier/run/process-directory';
import { Processes } from '#services/querier/run/processes';
import { Evaluation } from '#services/querier/rpc/prom/evaluation';
import { sqlService, type SqlServiceDeps } from '#services/querier/rpc/sql';
import type { BindRequest } from '#services/querier/snapshot/binding';
import type { Snapshot } from '#services/querier/snapshot/snapshots';
import type { LogicalTables } from '#services/querier/snapshot/logical-table';
import { installFunctions } from '#services/querier/sql/functions/install';
import type { StatementRowSink } from '#services/querier/sql/statement';

import { MemorySamples } from './memory-samples.js';

const PROM_LIMITS = {
  ...{ lookbackMs: 300_000, timeoutMs: 60_000, samplesMax: 1_000_000, isExperimental: true },
  resultCacheBytes: 0,
  names: metricNames({ naming: 'almanac', defaultColumnPrefix: '' }),
};

/** Logical tables of databases without metrics. */
export const NO_METRICS: LogicalTables = {
  find: () => Promise.resolve(undefined),
  names: () => Promise.resolve([]),
  alike: () => Promise.resolve(undefined),
};

/** Result of one statement. */
export interface Answer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Rows parsed from the JSON output. */
  readonly rows: readonly (readonly unknown[])[];
  readonly text: string;
  readonly affected: number | undefined;
}

/**
 * The SQL service over plain tables of one engine instance, with minimal implementations of catalog, metadata and snapshots.
 * Engine tables are named by table ID, so that a recreated table shows no rows of the dropped one.
 */
export class SqlBench {
  readonly requests: BindRequest[][] = [];
  readonly flushed: number[] = [];
  /** Empty databases for PromQL. */
  readonly samples = new MemorySamples({ public: [] });
  readonly catalog = new PlainCatalog();
  released = 0;
  nowNs = 1_700_000_000_123_000_000n;
  readonly #run: ReturnType<typeof sqlService>['sql'];
  readonly instance: DuckDBInstance;

  private constructor(instance: DuckDBInstance) {
    this.instance = instance;
    const metadata = this.#metadata();
    const log = openLog({ filter: 'off', format: 'json', coloured: false, clock: systemClock, write: () => undefined });
    const processes = new Processes({ clock: systemClock, addr: () => 'test', nodeId: () => 0 });
    const deps: SqlServiceDeps = {
      processes,
      processDirectory: new ProcessDirectory(processes, () => []),
      metadata: metadata as MetadataService,
      catalog: this.catalog,
      ingesters: { ownerOf: () => this.#ingester(), isAway: () => false },
      snapshots: {
        take: (requests) => Promise.resolve(this.#snapshot(requests)),
        takeNow: () => undefined,
        versionsNow: () => undefined,
        guess: () => Promise.resolve(undefined),
        overlappingRows: () => Promise.resolve(0),
      },
      logicalTables: NO_METRICS,
      promql: new Evaluation({ sources: this.samples, clock: systemClock, promLimits: PROM_LIMITS }),
      insert: this.#sink(),
      duckdb: instance,
      clock: { ...systemClock, nowNs: () => this.nowNs },
      log: log.logger,
      metrics: {
        statementEnded: () => undefined,
        segmentRead: () => undefined,
        rowsSent: () => undefined,
        queryRun: () => undefined,
        scanned: () => undefined,
        columnsRead: () => undefined,
        promEnded: () => undefined,
        flowEnded: () => undefined,
      },
      limits: { maxTimeoutMs: 60_000, planCacheEntries: 100 },
      admission: new Admission({ concurrent: 4, queue: 8, clock: systemClock }),
      memory: new MemoryWatch({ clock: systemClock, kinds: [] }),
      names: { catalog: 'almanac' },
      flows: { wake: () => undefined },
    };
    this.#run = sqlService(deps).sql;
  }

  static async open(): Promise<SqlBench> {
    const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
    const connection = await instance.connect();
    for (const setting of [
      "default_null_order = 'nulls_last_on_asc_first_on_desc'",
      'integer_division = true',
      "TimeZone = 'UTC'",
      'enable_external_access = false',
      'lock_configuration = true',
    ]) {
      await connection.run(`SET ${setting}`);
    }
    await installFunctions(connection);
    connection.closeSync();
    return new SqlBench(instance);
  }

  close(): void {
    this.instance.closeSync();
  }

  /** Runs a request and returns its events. */
  events(text: string, options: Partial<SqlRequest> = {}, call: Partial<Call> = {}): AsyncIterable<SqlEvent> {
    const request = { sql: text, database: 'public', timezone: '', format: '', user: '', ...options };
    return this.#run(request, {
      deadlineMs: Date.now() + 30_000,
      signal: new AbortController().signal,
      requestId: 'test',
      ...call,
    });
  }

  /** Runs a request and returns the results of its statements. */
  async all(text: string, options: Partial<SqlRequest> = {}): Promise<Answer[]> {
    const answers: { columns: Answer['columns']; texts: string[]; affected: number | undefined }[] = [];
    for await (const event of this.events(text, options)) {
      const answer = (answers[event.statement] ??= { columns: [], texts: [], affected: undefined });
      if (event.schema.length > 0) answer.columns = event.schema;
      if (event.text.length > 0) answer.texts.push(Buffer.from(event.text).toString());
      if (event.kind === 'affected') answer.affected = event.affectedRows;
    }
    return answers.map(({ columns, texts, affected }) => {
      const body = `[${texts.join(',')}]`;
      return { columns, affected, text: body, rows: JSON.parse(body) as unknown[][] };
    });
  }

  /** Runs a request and returns the result of its last statement. */
  async query(text: string, options: Partial<SqlRequest> = {}): Promise<Answer> {
    const answers = await this.all(text, options);
    return answers[answers.length - 1];
  }

  async rows(text: string, options: Partial<SqlRequest> = {}): Promise<readonly (readonly unknown[])[]> {
    return (await this.query(text, options)).rows;
  }

  /** Runs a request that must fail and returns its error. */
  async error(text: string, options: Partial<SqlRequest> = {}): Promise<AlmanacError> {
    try {
      await this.all(text, options);
    } catch (error) {
      if (error instanceof AlmanacError) return error;
      throw error;
    }
    throw new AlmanacError('illegal_state', `no error: ${text.slice(0, 200)}`);
  }

  #snapshot(requests: readonly BindRequest[]): Snapshot {
    this.requests.push([...requests]);
    const relations = requests.map(({ table, columns }) => {
      const names = table.columns
        .map((column) => column.name)
        .filter((name) => columns === undefined || columns.has(name));
      return `(SELECT ${names.map(quoteName).join(', ')} FROM "__almanac_data_${table.tableId}")`;
    });
    return {
      relations: () => Promise.resolve(relations),
      emptyRelations: relations,
      sources: [],
      reads: requests.map(() => ({
        segmentCount: 3,
        outsideTime: 1,
        withoutSeries: 1,
        withoutTerms: 0,
        segments: [],
        freshRows: 0,
        mergedFreshRows: 0,
      })),
      sequences: new Map(),
      mayRepeat: false,
      reasonOf: (thrown) => Promise.resolve(thrown),
      release: () => this.released++,
    };
  }

  #ingester(): IngesterService {
    return {
      flushTable: ({ tableId }: { tableId: number }) => {
        this.flushed.push(tableId);
        return Promise.resolve({ segments: 1 });
      },
      truncateTable: async ({ tableId }: { tableId: number }) => {
        await this.engine(`DELETE FROM "__almanac_data_${tableId}"`);
        return {};
      },
    } as unknown as IngesterService;
  }

  async engine(text: string): Promise<void> {
    const connection = await this.instance.connect();
    await connection.run(text);
    connection.closeSync();
  }

  #sink(): StatementRowSink {
    return {
      insert: async (table, columns, blocks) => {
        let count = 0;
        for await (const rows of blocks) {
          if (rows.length === 0) continue;
          count += rows.length;
          const tuples = rows.map((row) => `(${row.map((cell, i) => cellSql(cell, columns[i])).join(', ')})`);
          await this.engine(
            `INSERT INTO "__almanac_data_${table.tableId}" (${columns.map((column) => quoteName(column.name)).join(', ')}) VALUES ${tuples.join(', ')}`,
          );
        }
        return count;
      },
      delete: () => Promise.reject(new AlmanacError('unsupported', 'the bench deletes nothing')),
    };
  }

  #metadata(): Partial<MetadataService> {
    const { catalog } = this;
    return {
      listRegionSizes: () => Promise.resolve({ regions: [] }),
      listNodes: () => Promise.resolve({ nodes: [] }),
      listFlows: () => Promise.resolve({ flows: [] }),
      createDatabase: ({ name, options, ifNotExists }) => {
        const exists = catalog.byName.has(name);
        if (exists && !ifNotExists) throw new AlmanacError('database_already_exists', 'exists');
        if (!exists) {
          catalog.byName.set(name, {
            database: { databaseId: catalog.byName.size + 1, name, options },
            tables: new Map(),
          });
        }
        return Promise.resolve({ created: !exists, catalogVersion: ++catalog.version });
      },
      dropDatabase: ({ name, ifExists }) => {
        if (!catalog.byName.delete(name) && !ifExists) {
          throw new AlmanacError('database_not_found', `Database not found: ${name}`);
        }
        return Promise.resolve({ dropped: true, catalogVersion: ++catalog.version, tables: [] });
      },
      createTable: async (request) => {
        const { tables } = catalog.entry(request.database);
        const known = tables.get(request.name);
        if (known !== undefined && !request.ifNotExists) throw new AlmanacError('table_already_exists', 'exists');
        if (known === undefined) {
          const table = catalog.newTable(request);
          await this.engine(
            `CREATE TABLE "__almanac_data_${table.tableId}" (${table.columns.map((column) => `${quoteName(column.name)} ${dataType(column.type).duckdb}`).join(', ')})`,
          );
          tables.set(request.name, table);
        }
        return { created: known === undefined, catalogVersion: ++catalog.version };
      },
      dropTable: ({ database, name }) => {
        const dropped = catalog.entry(database).tables.delete(name);
        return Promise.resolve({ dropped, catalogVersion: ++catalog.version });
      },
      getTable: ({ tableId }) => {
        const tables = [...catalog.byName.values()].flatMap((entry) => [...entry.tables.values()]);
        const table = tables.find((candidate) => candidate.tableId === tableId);
        if (table === undefined) throw new AlmanacError('table_not_found', `Table not found: ${tableId}`);
        return Promise.resolve(table);
      },
      // There are no other nodes.
      abandonNode: ({ nodeId }) => {
        throw new AlmanacError('invalid_arguments', `there is no node ${nodeId}`);
      },
    };
  }
}

/** No views. */
const NO_VIEWS: Views = {
  known: () => undefined,
  find: () => Promise.resolve(undefined),
  ofDatabase: () => [],
};

/** In-memory catalog that is always up to date. */
export class PlainCatalog implements ViewCatalog {
  version = 1n;
  readonly views = NO_VIEWS;
  readonly byName = new Map<string, { database: Database; tables: Map<string, Table> }>([
    ['public', { database: { databaseId: 1, name: 'public', options: {} }, tables: new Map() }],
  ]);
  #nextTableId = 1;

  newTable(request: CreateTableRequest): Table {
    const { database, name, columns, options, primaryKey } = request;
    return {
      tableId: this.#nextTableId++,
      databaseId: 1,
      database,
      name,
      schemaVersion: 1,
      options,
      primaryKey,
      ttl: '',
      createdMs: 0,
      columns: columns.map((column, i) => ({ ...column, id: i + 1, backfillSql: '', formerTypes: [], indexes: [] })),
      regions: [{ regionId: 1, index: 0, epoch: 1, nodeId: 1, idsSinceEpoch: 1 }],
    };
  }

  entry(name: string): { database: Database; tables: Map<string, Table> } {
    const entry = this.byName.get(name);
    if (entry === undefined) throw new AlmanacError('database_not_found', `Database not found: ${name}`);
    return entry;
  }

  async database(name: string): Promise<Database> {
    return Promise.resolve(this.entry(name).database);
  }

  databases(): Promise<readonly Database[]> {
    return Promise.resolve([...this.byName.values()].map((entry) => entry.database));
  }

  async table(database: string, name: string): Promise<Table> {
    const table = this.entry(database).tables.get(name);
    if (table === undefined) throw new AlmanacError('table_not_found', `Table not found: ${name}`);
    return Promise.resolve(table);
  }

  async tables(database: string): Promise<readonly Table[]> {
    return Promise.resolve([...this.entry(database).tables.values()]);
  }

  renew(): Promise<void> {
    return Promise.resolve();
  }

  reached(): Promise<void> {
    return Promise.resolve();
  }
}

function cellSql(cell: CellValue, column: Column): string {
  const { timeUnit, duckdb, name } = dataType(column.type);
  if (cell === null) return 'NULL';
  if (timeUnit === 'ns') return `make_timestamp_ns(${String(cell)})`;
  if (timeUnit === 'us') return `make_timestamp(${String(cell)})`;
  if (timeUnit === 'ms') return `make_timestamp_ms(${String(cell)})`;
  if (timeUnit === 's') return `make_timestamp(${String(cell)}::BIGINT * 1000000)`;
  if (name === 'Date') return `DATE '1970-01-01' + ${String(cell)}::INTEGER`;
  if (cell instanceof Uint8Array) return `from_hex('${Buffer.from(cell).toString('hex')}')`;
  return `CAST(${quoteText(String(cell))} AS ${duckdb})`;
}
