import type { Clock } from '#shared/clock/clock';
import type { Database, RegionManifest, Table } from '#shared/contracts/gen/common';
import type {
  DroppedTable,
  PipelineVersion,
  StoredUser,
  View,
  ViewName,
  WatchEvent,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { DashboardStore } from './store/dashboards.js';
import { DatabaseStore } from './store/databases.js';
import { IdentityStore } from './store/identity.js';
import { FlowStore } from './store/flows.js';
import { nodeInfo, NodeStore, type NodeRecord } from './store/nodes.js';
import { damageCode, openStore, storeError, type CatalogConnection } from './store/open.js';
import { PipelineStore } from './store/pipelines.js';
import { RegionStore, type RegionRecord } from './store/regions.js';
import { SealStore } from './store/seals.js';
import { SegmentStore } from './store/segments.js';
import { TableStore } from './store/tables.js';
import { UserStore } from './store/users.js';
import { ViewStore } from './store/views.js';
import { WatchHub } from './watch-hub.js';

/** A change as watchers receive it, without the version, which the catalog adds. */
export type CatalogChange = Omit<WatchEvent, 'catalogVersion'>;

const NO_CHANGE = {
  droppedTableId: 0,
  droppedDatabase: '',
  droppedTableDatabase: '',
  droppedTableName: '',
  droppedRegionIds: [],
  removedNodeId: 0,
  droppedUser: '',
} as const;

/** Receives the path of a damaged catalog file and SQLite's code. */
export type OnDamage = (path: string, reason: string) => void;

/** The stores over one SQLite file, their transactions, and the watchers of changes. */
export class MetadataCatalog {
  readonly clock: Clock;
  readonly databases: DatabaseStore;
  readonly tables: TableStore;
  readonly regions: RegionStore;
  readonly segments: SegmentStore;
  readonly nodes: NodeStore;
  readonly seals: SealStore;
  readonly pipelines: PipelineStore;
  readonly users: UserStore;
  readonly views: ViewStore;
  readonly dashboards: DashboardStore;
  readonly flows: FlowStore;
  readonly identity: IdentityStore;
  readonly hub: WatchHub;
  readonly #connection: CatalogConnection;
  readonly #onDamage: OnDamage;
  readonly #nextVersion;
  #version: bigint;

  private constructor(connection: CatalogConnection, clock: Clock, onDamage: OnDamage) {
    this.clock = clock;
    this.#connection = connection;
    this.#onDamage = onDamage;
    this.databases = new DatabaseStore(connection);
    this.tables = new TableStore(connection);
    this.regions = new RegionStore(connection);
    this.segments = new SegmentStore(connection);
    this.nodes = new NodeStore(connection);
    this.seals = new SealStore(connection);
    this.pipelines = new PipelineStore(connection);
    this.users = new UserStore(connection);
    this.views = new ViewStore(connection);
    this.dashboards = new DashboardStore(connection);
    this.flows = new FlowStore(connection);
    this.identity = new IdentityStore(connection);
    this.#nextVersion = connection.prepare<[], { value: bigint }>(
      `UPDATE facts SET value = value + 1 WHERE name = 'catalog_version' RETURNING value`,
    );
    const present = connection
      .prepare<[], { value: bigint }>(`SELECT value FROM facts WHERE name = 'catalog_version'`)
      .get();
    this.#version = present?.value ?? 0n;
    this.hub = new WatchHub(this.#version);
  }

  /**
   * Opens the catalog file.
   *
   * @param onDamage called whenever a call meets damage, which may be in parts that a start does not read.
   * @throws `storage_unavailable` naming the file if it is damaged where a start reads it, or is not writable.
   */
  static async open(
    path: string,
    fs: FileSystem,
    clock: Clock,
    onDamage: OnDamage = () => undefined,
  ): Promise<MetadataCatalog> {
    const connection = await openStore(path, fs);
    try {
      // Opening a file neither requires the right to write it nor reads what the first call does.
      connection.exec("BEGIN; UPDATE facts SET value = value WHERE name = 'catalog_version'; ROLLBACK");
      const catalog = new MetadataCatalog(connection, clock, onDamage);
      catalog.everything();
      return catalog;
    } catch (error) {
      connection.close();
      throw storeError(error, `cannot open "${path}"`);
    }
  }

  /** For messages to clients, which must not contain absolute paths. */
  get #fileName(): string {
    return `"${this.#connection.name.split('/').slice(-2).join('/')}"`;
  }

  get version(): bigint {
    return this.#version;
  }

  /** Ends all watches, then closes the connection. May be called twice. */
  close(): void {
    this.hub.close();
    this.#connection.close();
  }

  /**
   * Runs `work` as one transaction, and sends the changes that it records to watchers, in order, once they are durable.
   *
   * @param work records each change; if it throws, nothing happened.
   */
  change<T>(work: (record: (change: CatalogChange) => void) => T): T {
    const events: WatchEvent[] = [];
    const before = this.#version;
    const transaction = this.#connection.transaction(() =>
      work((change) => {
        this.#version = this.#nextVersion.get()?.value ?? this.#version;
        events.push({ ...change, catalogVersion: this.#version });
      }),
    );
    let result: T;
    try {
      result = transaction.immediate();
    } catch (error) {
      this.#version = before;
      throw this.#failed(error, 'change of');
    }
    for (const event of events) this.hub.publish(event);
    return result;
  }

  /**
   * Runs one method over the open file.
   * @throws `external` after `close`, `storage_unavailable` if reading fails.
   */
  run<T>(method: () => T): T {
    if (!this.#connection.open) throw new AlmanacError('external', 'metadata is stopped', { retryAfterSeconds: 1 });
    try {
      return method();
    } catch (error) {
      throw this.#failed(error, 'use of the catalog');
    }
  }

  #failed(error: unknown, what: string): Error {
    const damage = damageCode(error);
    if (damage !== undefined) this.#onDamage(this.#connection.name, damage);
    return storeError(error, `${what} ${this.#fileName} failed`);
  }

  /** @throws `database_not_found`. */
  database(name: string): Database {
    const database = this.databases.find(name);
    if (database === undefined) throw new AlmanacError('database_not_found', `Database not found: ${name}`);
    return database;
  }

  /** @throws `database_not_found`, `table_not_found`. */
  table(databaseName: string, name: string): Table {
    const table = this.tables.find(this.database(databaseName), name);
    if (table === undefined) throw new AlmanacError('table_not_found', `Table not found: ${databaseName}.${name}`);
    return table;
  }

  /** @throws `region_not_found`. */
  region(regionId: number): RegionRecord {
    const region = this.regions.find(regionId);
    if (region === undefined) throw new AlmanacError('region_not_found', `region ${regionId} not found`);
    return region;
  }

  /**
   * Returns what is durable of a region.
   * @throws `region_not_found`.
   */
  manifest(regionId: number): RegionManifest {
    const region = this.region(regionId);
    const { tableId, epoch, watermark, truncatedSequence, version } = region;
    const segments = this.segments.ofRegion(regionId);
    const seriesFiles = this.segments.seriesFilesOf(regionId);
    return { regionId, tableId, epoch, watermark, truncatedSequence, version, segments, seriesFiles };
  }

  /** Returns the whole catalog as events, for watchers whose version is too old to receive single changes. */
  everything(): WatchEvent[] {
    const changes: CatalogChange[] = [{ ...NO_CHANGE, kind: 'state_begin' }];
    changes.push(...this.nodes.list().map(nodeChanged));
    for (const database of this.databases.list()) {
      changes.push(databaseCreated(database), ...this.tables.list(database).map(tableChanged));
      changes.push(...this.views.list(database).map(viewChanged));
    }
    changes.push(...this.pipelines.latestOfAll().map(pipelineChanged));
    changes.push(...this.users.list().map(userChanged));
    changes.push({ ...NO_CHANGE, kind: 'state_end' });
    return changes.map((change) => ({ ...change, catalogVersion: this.#version }));
  }
}

/** Change for watchers: a database was created or altered. */
export function databaseCreated(database: Database): CatalogChange {
  return { ...NO_CHANGE, kind: 'database_created', database };
}

/** Change for watchers: a database was dropped. */
export function databaseDropped(name: string): CatalogChange {
  return { ...NO_CHANGE, kind: 'database_dropped', droppedDatabase: name };
}

/** Change for watchers: a pipeline has another latest version, or another version less. */
export function pipelineChanged(pipeline: PipelineVersion): CatalogChange {
  return { ...NO_CHANGE, kind: 'pipeline_changed', pipeline };
}

/** Change for watchers: a user was created, or has another password, other grants or other tokens. */
export function userChanged(user: StoredUser): CatalogChange {
  return { ...NO_CHANGE, kind: 'user_changed', user };
}

/** Change for watchers: a user was dropped. */
export function userDropped(name: string): CatalogChange {
  return { ...NO_CHANGE, kind: 'user_dropped', droppedUser: name };
}

/** Change for watchers: a view was created or replaced. */
export function viewChanged(view: View): CatalogChange {
  return { ...NO_CHANGE, kind: 'view_changed', view };
}

/** Change for watchers: a view was dropped. */
export function viewDropped({ database, name }: ViewName): CatalogChange {
  return { ...NO_CHANGE, kind: 'view_dropped', droppedView: { database, name } };
}

/** Change for watchers: a table was created or altered, or its regions have other owners. */
export function tableChanged(table: Table): CatalogChange {
  return { ...NO_CHANGE, kind: 'table_changed', table };
}

/** Change for watchers: a table was dropped. */
export function tableDropped(table: Table): CatalogChange {
  return {
    ...NO_CHANGE,
    kind: 'table_dropped',
    droppedTableId: table.tableId,
    droppedTableDatabase: table.database,
    droppedTableName: table.name,
    droppedRegionIds: table.regions.map((region) => region.regionId),
  };
}

/** Returns what the caller of a drop needs to inform the owners of the table's regions. */
export function droppedTable({ tableId, name, regions }: Table): DroppedTable {
  return { tableId, name, regions };
}

/** Change for watchers: a node joined or is in another state. */
export function nodeChanged(node: NodeRecord): CatalogChange {
  return { ...NO_CHANGE, kind: 'node_changed', node: nodeInfo(node) };
}

/** Change for watchers: a node is not listed any more. */
export function nodeRemoved(nodeId: number): CatalogChange {
  return { ...NO_CHANGE, kind: 'node_removed', removedNodeId: nodeId };
}

/** Change for watchers: other files or rows of a region are durable. */
export function manifestChanged(manifest: RegionManifest): CatalogChange {
  return { ...NO_CHANGE, kind: 'manifest_changed', manifest };
}
