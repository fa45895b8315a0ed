import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { startIngester, type IngesterConfig, type RunningIngester } from '#services/ingester/index';
import { BUSY } from '#services/ingester/settings';
import { startMetadata, type RunningMetadata } from '#services/metadata/index';
import type { BindRequest } from '#services/querier/snapshot/binding';
import { RegionSnapshots } from '#services/querier/snapshot/snapshot';
import type { Snapshot } from '#services/querier/snapshot/snapshots';
import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { WriteRequest, WriteResponse } from '#shared/contracts/gen/ingester';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { Contracts } from '#shared/grpc/contract';
import { DirectIngesters } from '#shared/discovery/direct-ingesters';
import { ManifestCache } from '#shared/discovery/manifest-cache';
import { openSandbox, type DuckDBInstance } from '#shared/duckdb/engine';
import type { FileSystem } from '#shared/fs/file-system';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { encodeRowBatch } from '#shared/rowbatch/arrow';
import { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { encodeDefinitions, encodeTags } from '#shared/rowbatch/definitions';
import { seriesId } from '#shared/rowbatch/series-key';
import { METRIC_NAME, metricTagOf, PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { DELETED, OP } from '#shared/schema/segment-columns';
import { LocalStore } from '#shared/segments/local-store';
import { Metrics } from '#shared/telemetry/metrics';

import { overGrpc } from './over-grpc.js';
import { seriesIndexes } from './series-indexes.js';
import { NO_FOLDER } from './metadata-rig.js';
import { KeptLog } from './quiet-log.js';

/**
 * A row of the rig's tables: tag `host`, fields `a` (Int64) and `s` (String), time in nanoseconds. Metric tables also
 * have a tag of the metric's name, and `a` is Float64.
 */
export interface RigRow {
  readonly name?: string | undefined;
  readonly host: string;
  readonly time: bigint;
  readonly a?: number | undefined;
  readonly s?: string | undefined;
  readonly b?: number | undefined;
  /** Whether the row deletes its key. */
  readonly isDeleted?: boolean;
}

/** What a rig replaces or limits. */
export interface RigOptions {
  readonly fs?: FileSystem;
  readonly config?: Partial<IngesterConfig>;
  readonly onFatal?: (error: unknown) => void;
  /** Memory of the query instance, which then cannot spill. */
  readonly queryBytes?: number;
  /** Transport between services and callers. Default: direct calls. */
  readonly transport?: Transport;
  /** Wraps methods of the metadata that the ingester calls. */
  readonly metadata?: (service: MetadataService) => Partial<MetadataService>;
  readonly onTableOpened?: (table: Table) => boolean;
  /** Limit of messages between ingester and reader. */
  readonly messageBytesMax?: number;
  /** Regions of a table. Default: 1. */
  readonly regions?: number;
}

/** How services and callers are connected. */
export type Transport = 'direct' | 'grpc';

const ENCODER = new TextEncoder();
/** A call without a deadline. */
export const CALL = ownCall('test');

/** Metadata, ingester and snapshots over one data folder. Rows are written and read through the services' contracts. */
export class StorageRig {
  readonly folder: string;
  readonly metadata: RunningMetadata;
  readonly ingester: RunningIngester;
  readonly log: KeptLog;
  readonly nodeId: number;
  readonly #query: DuckDBInstance;
  readonly #snapshots: RegionSnapshots;
  readonly #running: readonly Stoppable[];
  /** Tables that were read. */
  readonly #known: Map<number, Table>;
  readonly #incarnation = systemRandom.bytes(8);
  #counter = 0;

  private constructor(parts: {
    folder: string;
    metadata: RunningMetadata;
    ingester: RunningIngester;
    log: KeptLog;
    nodeId: number;
    query: DuckDBInstance;
    snapshots: RegionSnapshots;
    running: readonly Stoppable[];
    known: Map<number, Table>;
  }) {
    this.folder = parts.folder;
    this.metadata = parts.metadata;
    this.ingester = parts.ingester;
    this.log = parts.log;
    this.nodeId = parts.nodeId;
    this.#query = parts.query;
    this.#snapshots = parts.snapshots;
    this.#running = parts.running;
    this.#known = parts.known;
  }

  static async start(folder: string, options: RigOptions = {}): Promise<StorageRig> {
    const running: Stoppable[] = [];
    try {
      return await StorageRig.#open(folder, options, running);
    } catch (error) {
      for (const part of running.reverse()) await part.stop();
      throw error;
    }
  }

  static async #open(folder: string, options: RigOptions, running: Stoppable[]): Promise<StorageRig> {
    const fs = options.fs ?? nodeFileSystem;
    for (const part of ['metadata', 'store']) mkdirSync(join(folder, part), { recursive: true });
    const log = new KeptLog();
    const between = async <Name extends 'Metadata' | 'Ingester'>(name: Name, service: Contracts[Name]) => {
      if (options.transport !== 'grpc') return service;
      const { messageBytesMax } = options;
      const crossing = await overGrpc(name, service, { serve: { messageBytesMax }, connect: { messageBytesMax } });
      running.push(crossing);
      return crossing.service;
    };
    const ownMetadata = await startMetadata({
      folder: join(folder, 'metadata'),
      fs,
      clock: systemClock,
      random: systemRandom,
      log,
      metrics: new Metrics({ unprefixedProcess: false }),
      defaults: { regions: options.regions ?? 1, tablesMax: 100_000, columnsMax: 4096 },
    });
    running.push(ownMetadata);
    const metadata = { ...ownMetadata, service: await between('Metadata', ownMetadata.service) };
    const registration = { role: 'standalone', addr: '', slot: '0', version: 'test', ...NO_FOLDER };
    const { nodeId } = await metadata.service.registerNode(registration, CALL);
    const ownIngester = await startIngester({
      config: { ...rigConfig(folder, nodeId), ...options.config },
      fs,
      clock: systemClock,
      random: systemRandom,
      metadata: { ...metadata.service, ...options.metadata?.(metadata.service) },
      onTableOpened: options.onTableOpened ?? (() => true),
      log,
      metrics: new Metrics({ unprefixedProcess: false }),
      onProgress: () => undefined,
      onFatal: options.onFatal ?? (() => undefined),
    });
    const service = await between('Ingester', ownIngester.service);
    // The process of another ingester would have to be called.
    const isOther = options.transport === 'grpc';
    const ingester = isOther ? { ...ownIngester, service, hasNothingNew: () => false } : { ...ownIngester, service };
    const store = new LocalStore(join(folder, 'store'), fs);
    const spillFolder = options.queryBytes === undefined ? join(folder, 'scratch/query') : '';
    const query = await openSandbox(
      { threads: 1, memoryBytes: options.queryBytes ?? 1 << 30, spillFolder },
      store.root,
    );
    const known = new Map<number, Table>();
    const connection = await query.connect();
    const schemaOf = (tableId: number): Table | undefined => known.get(tableId);
    const snapshots = new RegionSnapshots({
      catalog: { knownById: (tableId) => known.get(tableId) },
      ingesters: new DirectIngesters(nodeId, ingester),
      manifests: new ManifestCache(metadata.service),
      store,
      connection,
      appending: await query.connect(),
      batchMemory: { bytesLeft: 1 << 20 },
      clock: systemClock,
      indexes: seriesIndexes({ connection, files: store, clock: systemClock, schemaOf }),
      confirmDataFolder: () => Promise.resolve(),
    });
    return new StorageRig({ folder, metadata, ingester, log, nodeId, query, snapshots, running, known });
  }

  /** Creates a table with the rig's columns, or finds it; an option makes it a metric table. */
  /** @param second the field after `a`: flushes treat tables without texts differently. */
  async table(name: string, options: Readonly<Record<string, string>> = {}, second: 's' | 'b' = 's'): Promise<Table> {
    const column = (columnName: string, type: string, kind: string) => {
      return { name: columnName, type, kind, nullable: kind !== 'time', defaultSql: '', comment: '', indexes: [] };
    };
    const isMetric = options[PHYSICAL_METRIC_TABLE] === 'true';
    const columns = [
      ...(isMetric ? [column(METRIC_NAME, 'String', 'tag')] : []),
      column('host', 'String', 'tag'),
      column('a', isMetric ? 'Float64' : 'Int64', 'field'),
      column(second, second === 's' ? 'String' : 'Float64', 'field'),
      column('time', 'TimestampNanosecond', 'time'),
    ];
    const request = { database: 'public', tables: [{ name, columns, options }], create: true };
    return (await this.metadata.service.ensureTables(request, CALL)).tables[0];
  }

  /** Writes rows as one batch, with all definitions. */
  write(table: Table, rows: readonly RigRow[]): Promise<WriteResponse> {
    return this.ingester.service.write(this.request(table, rows), CALL);
  }

  /** Returns the request that `write` sends; each has a new batch id. */
  request(table: Table, rows: readonly RigRow[], overrides: Partial<WriteRequest> = {}): WriteRequest {
    const ids = new Map(table.columns.map((column) => [column.name, column.id]));
    const idOf = (name: string): number => (name === OP.name ? OP.id : (ids.get(name) ?? 0));
    const typeOfA = table.columns.find(({ name }) => name === 'a')?.type ?? 'Int64';
    const builder = new TableBuilder(table.name);
    const entries = new Map<string, SeriesEntry>();
    for (const row of rows) {
      const key = `${row.name ?? ''} ${row.host}`;
      let entry = entries.get(key);
      if (entry === undefined) {
        const tags = [{ name: 'host', value: ENCODER.encode(row.host) }];
        if (row.name !== undefined) tags.unshift({ name: METRIC_NAME, value: ENCODER.encode(row.name) });
        entry = new SeriesEntry(table.name, seriesId(tags), tags);
        entries.set(key, entry);
      }
      builder.startRow(entry);
      const at = builder.rowCount;
      if (row.a !== undefined) builder.field('a', typeOfA).setNumber(at, row.a);
      if (row.s !== undefined) {
        const text = ENCODER.encode(row.s);
        builder.field('s', 'String').setBytes(at, text, 0, text.length);
      }
      if (row.b !== undefined) builder.field('b', 'Float64').setNumber(at, row.b);
      if (row.isDeleted === true) builder.field(OP.name, OP.type).setNumber(at, DELETED);
      builder.endRowAt(row.time);
    }
    const definitions = [...entries.values()].map(({ tsid, tags }) => {
      return { tsid, tags: encodeTags(tags.map(({ name, value }) => ({ columnId: idOf(name), value }))) };
    });
    const [region] = table.regions;
    return {
      tableId: table.tableId,
      regionId: region.regionId,
      epoch: region.epoch,
      schemaVersion: table.schemaVersion,
      batchId: this.#nextId(),
      batch: encodeRowBatch(builder.finish(idOf)),
      definitions: encodeDefinitions(definitions),
      asOf: 0n,
      ...overrides,
    };
  }

  /** Returns all rows of a table in one snapshot, sorted by host and time, then by value. */
  async rows(table: Table): Promise<RigRow[]> {
    const name = metricTagOf(table)?.name ?? 'NULL';
    const [s, b] = ['s', 'b'].map((field) =>
      table.columns.some((it) => it.name === field) ? field : `NULL AS ${field}`,
    );
    const columns = `${name}, host, epoch_ns(time), a, ${s}, ${b}`;
    const rows = await this.#select(table, columns, 'ORDER BY 1, host, time, a, s, b');
    return rows.map(([metric, host, time, a, s, b]) => ({
      ...(metric === null ? {} : { name: metric as string }),
      host: String(host),
      time: time as bigint,
      ...(a === null ? {} : { a: Number(a) }),
      ...(s === null ? {} : { s: s as string }),
      ...(b === null ? {} : { b: Number(b) }),
    }));
  }

  /** Returns the last sequence of each region in a snapshot of the table. */
  async sequences(table: Table): Promise<ReadonlyMap<number, bigint>> {
    this.#known.set(table.tableId, table);
    const request = {
      table,
      columns: undefined,
      timeFrom: undefined,
      timeTo: undefined,
      tagValues: new Map(),
      texts: [],
    };
    const snapshot = await this.#snapshots.take([request], CALL);
    snapshot.release();
    return snapshot.sequences;
  }

  /** Returns the number of rows with these tag values, and the number of segments that the engine got for them. */
  async found(
    table: Table,
    tagValues: ReadonlyMap<string, readonly string[]>,
  ): Promise<{ readonly rowCount: number; readonly segments: number }> {
    this.#known.set(table.tableId, table);
    const request = { table, columns: undefined, timeFrom: undefined, timeTo: undefined, tagValues, texts: [] };
    const snapshot = await this.#snapshots.take([request], CALL);
    const connection = await this.#query.connect();
    try {
      const conditions = Array.from(
        tagValues,
        ([tag, values]) => `${tag} IN (${values.map((it) => `'${it}'`).join()})`,
      );
      const sql = `SELECT count(*) FROM ${(await snapshot.relations())[0]} WHERE ${conditions.join(' AND ')}`;
      const [[rowCount]] = await (await connection.run(sql)).getRows();
      return { rowCount: Number(rowCount), segments: snapshot.reads[0].segments.length };
    } finally {
      connection.closeSync();
      snapshot.release();
    }
  }

  /** Returns the number of rows in a snapshot of a table. */
  async count(table: Table): Promise<number> {
    return Number((await this.#select(table, 'count(*)', ''))[0][0]);
  }

  /** Returns whether a guess is made for a read of the table, and whether it is right. */
  async guess(table: Table): Promise<'none' | 'right' | 'wrong'> {
    this.#known.set(table.tableId, table);
    const request = wholeTable(table);
    const guess = await this.#snapshots.guess([request], CALL);
    const snapshot = await this.#snapshots.take([request], CALL, { guess });
    snapshot.release();
    if (guess === undefined) return 'none';
    guess.release();
    return snapshot === guess ? 'right' : 'wrong';
  }

  /** Returns the number of rows in a snapshot that was taken without waiting; undefined if there was none. */
  async countNow(table: Table): Promise<number | undefined> {
    this.#known.set(table.tableId, table);
    const snapshot = this.#snapshots.takeNow([wholeTable(table)], CALL);
    return snapshot && Number((await this.#rowsOf(snapshot, 'count(*)', ''))[0][0]);
  }

  async #select(table: Table, columns: string, order: string): Promise<unknown[][]> {
    this.#known.set(table.tableId, table);
    return this.#rowsOf(await this.#snapshots.take([wholeTable(table)], CALL), columns, order);
  }

  async #rowsOf(snapshot: Snapshot, columns: string, order: string): Promise<unknown[][]> {
    const connection = await this.#query.connect();
    try {
      return await (
        await connection.run(`SELECT ${columns} FROM ${(await snapshot.relations())[0]} ${order}`)
      ).getRows();
    } finally {
      connection.closeSync();
      snapshot.release();
    }
  }

  async flush(table: Table): Promise<void> {
    const regionIds = table.regions.map(({ regionId }) => regionId);
    await this.ingester.service.flushTable({ tableId: table.tableId, regionIds }, CALL);
  }

  /**
   * Merges segments as far as possible.
   * @returns the number of replaced segments.
   */
  async compact(table: Table): Promise<number> {
    const regionIds = table.regions.map(({ regionId }) => regionId);
    return (await this.ingester.service.compactTable({ tableId: table.tableId, regionIds }, CALL)).segments;
  }

  /** Copies what a crash at this moment would leave to a folder. */
  crashImage(folder: string): void {
    cpSync(this.folder, folder, { recursive: true });
  }

  async stop(): Promise<void> {
    await this.ingester.stop();
    for (const part of this.#running) await part.stop();
    this.#query.closeSync();
  }

  #nextId(): Uint8Array {
    const id = new Uint8Array(16);
    id.set(this.#incarnation);
    // The highest bit marks ids that are derived from a key.
    id[7] &= 0x7f;
    new DataView(id.buffer).setBigUint64(8, BigInt(++this.#counter), true);
    return id;
  }
}

/** A part below the rig. */
interface Stoppable {
  stop(): Promise<void>;
}

function rigConfig(folder: string, nodeId: number): IngesterConfig {
  return {
    nodeId,
    walFolder: join(folder, 'slots/0/wal'),
    scratchFolder: join(folder, 'scratch'),
    storeFolder: join(folder, 'store'),
    walSync: 'group',
    walSyncIntervalMs: 1000,
    walFileBytes: 64 << 20,
    walBytesMax: 1 << 30,
    walRecover: 'strict',
    retryWindowMs: 300_000,
    flushBytes: 64 << 20,
    flushIntervalMs: 600_000,
    windowMs: 86_400_000,
    gcGraceMs: 900_000,
    compaction: { isAutomatic: false, intervalMs: 1_000, quietMs: 600_000, busy: BUSY, segmentRows: 1 << 19 },
    memtableBytes: 1 << 28,
    engineBytes: 1 << 28,
    recoveryThreads: 1,
    seriesMax: 0,
    engineThreads: 1,
    opensRegions: false,
    regionsOpenedAtOnce: 2,
  };
}

function wholeTable(table: Table): BindRequest {
  return { table, columns: undefined, timeFrom: undefined, timeTo: undefined, tagValues: new Map(), texts: [] };
}
