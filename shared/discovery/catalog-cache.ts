import { StoredUsers } from '#shared/auth/stored-users';
import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { callError, checkCall, ownCall, type Call } from '#shared/contracts/call';
import type { Database, RegionManifest, Table } from '#shared/contracts/gen/common';
import type { MetadataService, NodeInfo, PipelineVersion, WatchEvent } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { Logger } from '#shared/telemetry/log';
import type { ViewCatalog } from './catalog.js';
import { Listeners } from './listeners.js';
import { TableMap, type DroppedTable } from './table-map.js';
import { ViewCache } from './view-cache.js';

/** Pause before an ended watch is restarted; doubles with each consecutive failure. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 5_000;

/** Dependencies of `CatalogCache`. */
export interface CatalogCacheOptions {
  readonly metadata: MetadataService;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** IDs and names contained in a state event stream. */
interface NamedByState {
  readonly tableIds: Set<number>;
  readonly databases: Set<string>;
  readonly nodeIds: Set<number>;
  readonly pipelines: Set<string>;
  readonly users: Set<string>;
  readonly viewIds: Set<number>;
}

/** A change of a node; `node` is undefined if it left the cluster. */
export interface NodeChange {
  readonly nodeId: number;
  readonly node: NodeInfo | undefined;
}

/**
 * The catalog of this process, kept warm by metadata's watch.
 *
 * Known entries are served without metadata, so its absence stops neither reads nor writes of known tables. Unknown
 * entries are requested from metadata once per call.
 */
export class CatalogCache implements ViewCatalog {
  readonly #options: CatalogCacheOptions;
  readonly #databases = new Map<string, Database>();
  readonly #tables = new TableMap();
  readonly #nodes = new Map<number, NodeInfo>();
  /** Latest version of each pipeline; zero for those that were deleted. */
  readonly #pipelines = new Map<string, PipelineVersion>();
  #pipelineChanges = 0;
  /** The users that SQL manages. */
  readonly users = new StoredUsers();
  readonly views: ViewCache;
  readonly #tableListeners = new Listeners<Table>();
  readonly #droppedListeners = new Listeners<DroppedTable>();
  readonly #manifestListeners = new Listeners<RegionManifest>();
  readonly #nodeListeners = new Listeners<NodeChange>();
  readonly #resetListeners = new Listeners<bigint>();
  readonly #waiters = new Set<{ readonly version: bigint; readonly resolve: () => void }>();
  readonly #stopping = new AbortController();
  #following: Promise<void> | undefined;
  /** The version up to which the watch has delivered everything; 0 until the first state is complete. */
  #watched = 0n;
  #changeCount = 0n;
  /** Names in the state that is being received. */
  #state: NamedByState | undefined;

  constructor(options: CatalogCacheOptions) {
    this.#options = options;
    this.views = new ViewCache(options.metadata);
  }

  get version(): bigint {
    return this.#changeCount;
  }

  /** Starts the watch; `reached(1n)` resolves when the whole catalog is loaded. A second call has no effect. */
  start(): void {
    this.#following ??= this.#followForever();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#following;
  }

  async database(name: string, call: Call): Promise<Database> {
    const known = this.#databases.get(name) ?? (await this.#listDatabases(call)).find((it) => it.name === name);
    if (known === undefined) throw new AlmanacError('database_not_found', `Database not found: ${name}`);
    return known;
  }

  async databases(call: Call): Promise<readonly Database[]> {
    if (this.#watched === 0n) return this.#listDatabases(call);
    return [...this.#databases.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async table(database: string, name: string, call: Call): Promise<Table> {
    const known = this.#tables.find(database, name);
    if (known !== undefined) return known;
    const table = await this.#options.metadata.getTable({ database, name, tableId: 0 }, call);
    this.apply(table);
    return table;
  }

  async renew(tableId: number, call: Call): Promise<void> {
    this.apply(await this.#options.metadata.getTable({ database: '', name: '', tableId }, call));
  }

  async tables(database: string, call: Call): Promise<readonly Table[]> {
    if (this.#watched > 0n && this.#databases.has(database)) return this.#tables.ofDatabase(database);
    const { tables } = await this.#options.metadata.listTables({ database }, call);
    for (const table of tables) this.apply(table);
    return tables;
  }

  /** Returns all known tables of all databases. */
  allTables(): readonly Table[] {
    return this.#tables.all();
  }

  /** Returns the table if it is cached, without calling metadata. */
  known(database: string, name: string): Table | undefined {
    return this.#tables.find(database, name);
  }

  /** Returns the table if it is cached, without calling metadata. */
  knownById(tableId: number): Table | undefined {
    return this.#tables.byId(tableId);
  }

  /**
   * Returns the latest version of a pipeline, if the watch has delivered it; zero if it was deleted. The object is another
   * one after each change of any version.
   */
  pipeline(name: string): PipelineVersion | undefined {
    return this.#pipelines.get(name);
  }

  /** Number of changes of pipelines that this process has seen. */
  get pipelineChanges(): number {
    return this.#pipelineChanges;
  }

  /** Returns the latest version of each pipeline; zero for those that were deleted. */
  pipelines(): readonly PipelineVersion[] {
    return [...this.#pipelines.values()];
  }

  /** Returns the nodes of the cluster, by ID; `regionCount` dates from the node's last change of state. */
  nodes(): readonly NodeInfo[] {
    return [...this.#nodes.values()].sort((a, b) => a.nodeId - b.nodeId);
  }

  /** Returns the node if the watch has delivered it. */
  node(nodeId: number): NodeInfo | undefined {
    return this.#nodes.get(nodeId);
  }

  reached(version: bigint, call: Call): Promise<void> {
    if (version <= this.#watched) return Promise.resolve();
    if (call.signal.aborted) return Promise.reject(callError(call.signal));
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiters.delete(waiter);
        reject(callError(call.signal));
      };
      const waiter = {
        version,
        resolve: () => {
          call.signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      this.#waiters.add(waiter);
      call.signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Adds a table from a response of metadata before the watch delivers it. An older schema version changes nothing. */
  apply(table: Table): void {
    if (!this.#tables.put(table)) return;
    this.#changeCount++;
    this.#tableListeners.notify(table);
  }

  /** Does the same as `apply`. @returns false if the table is known to be dropped. */
  note(table: Table): boolean {
    this.apply(table);
    return this.knownById(table.tableId) !== undefined;
  }

  /** Calls `listener` with each new version of a table, in order. @returns a function that unsubscribes. */
  onTable(listener: (table: Table) => void): () => void {
    return this.#tableListeners.add(listener);
  }

  /** Calls `listener` once for each dropped table. @returns a function that unsubscribes. */
  onDropped(listener: (table: DroppedTable) => void): () => void {
    return this.#droppedListeners.add(listener);
  }

  /** Calls `listener` with each manifest that metadata commits while the watch runs. @returns a function that unsubscribes. */
  onManifest(listener: (manifest: RegionManifest) => void): () => void {
    return this.#manifestListeners.add(listener);
  }

  /** Calls `listener` with each change of a node, in order, also with its removal. @returns a function that unsubscribes. */
  onNode(listener: (change: NodeChange) => void): () => void {
    return this.#nodeListeners.add(listener);
  }

  /** Calls `listener` when manifest changes may have been missed, so that cached ones must be refreshed. */
  onReset(listener: (version: bigint) => void): () => void {
    return this.#resetListeners.add(listener);
  }

  async #listDatabases(call: Call): Promise<readonly Database[]> {
    const { databases, catalogVersion } = await this.#options.metadata.listDatabases({}, call);
    // A response that the watch has overtaken may contain a database that was dropped since.
    if (catalogVersion < this.#watched) return databases;
    for (const database of databases) this.#databases.set(database.name, database);
    return databases;
  }

  async #followForever(): Promise<void> {
    const { clock, random, log } = this.#options;
    const { signal } = this.#stopping;
    let restMs = RETRY_MS;
    while (!signal.aborted) {
      const before = this.#watched;
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#watched > before) restMs = RETRY_MS;
        log.warn({ error, watchedVersion: this.#watched, restMs }, 'catalog watch ended');
      }
      await clock.sleep(restMs * (0.5 + random.fraction()), signal);
      restMs = Math.min(restMs * 2, RETRY_MS_MAX);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const call = ownCall('catalog-watch', signal);
    this.#state = undefined;
    for await (const event of this.#options.metadata.watch({ afterVersion: this.#watched }, call)) {
      checkCall(call);
      if (event.kind === 'state_end') await this.#endState(event.catalogVersion, call);
      else this.#take(event);
      // All events of a state carry the same version, which is reached only with the last of them.
      if (this.#state === undefined) this.#advance(event.catalogVersion);
    }
  }

  #take(event: WatchEvent): void {
    switch (event.kind) {
      case 'state_begin':
        this.#state = emptyState();
        break;
      case 'database_created':
        invariant(event.database !== undefined, 'watch event without its database');
        this.#databases.set(event.database.name, event.database);
        this.#state?.databases.add(event.database.name);
        this.#changeCount++;
        break;
      case 'database_dropped':
        this.#databases.delete(event.droppedDatabase);
        this.#changeCount++;
        break;
      case 'table_changed':
        invariant(event.table !== undefined, 'watch event without its table');
        this.apply(event.table);
        this.#state?.tableIds.add(event.table.tableId);
        break;
      case 'table_dropped':
        this.#drop({
          tableId: event.droppedTableId,
          database: event.droppedTableDatabase,
          name: event.droppedTableName,
          regionIds: event.droppedRegionIds,
        });
        break;
      case 'manifest_changed':
        invariant(event.manifest !== undefined, 'watch event without its manifest');
        this.#manifestListeners.notify(event.manifest);
        break;
      case 'node_changed':
        invariant(event.node !== undefined, 'watch event without its node');
        this.#state?.nodeIds.add(event.node.nodeId);
        this.#putNode(event.node);
        break;
      case 'node_removed':
        this.#removeNode(event.removedNodeId);
        break;
      default:
        this.#takeStored(event);
    }
  }

  /** Takes a change of a pipeline, a user or a view. */
  #takeStored(event: WatchEvent): void {
    switch (event.kind) {
      case 'pipeline_changed':
        invariant(event.pipeline !== undefined, 'watch event without its pipeline');
        this.#state?.pipelines.add(event.pipeline.name);
        this.#putPipeline(event.pipeline);
        break;
      case 'user_changed':
        invariant(event.user !== undefined, 'watch event without its user');
        this.#state?.users.add(event.user.name);
        this.users.put(event.user);
        break;
      case 'user_dropped':
        this.users.drop(event.droppedUser);
        break;
      case 'view_changed':
        invariant(event.view !== undefined, 'watch event without its view');
        this.#state?.viewIds.add(event.view.viewId);
        this.views.put(event.view);
        this.#changeCount++;
        break;
      case 'view_dropped':
        invariant(event.droppedView !== undefined, 'watch event without its view');
        this.views.drop(event.droppedView);
        this.#changeCount++;
        break;
      default:
        // A newer metadata service may send kinds that this release does not know.
        this.#options.log.debug({ kind: event.kind }, 'unknown catalog event');
    }
  }

  /** Drops what a complete state does not contain. */
  async #endState(version: bigint, call: Call): Promise<void> {
    const state = this.#state;
    invariant(state !== undefined, 'watch: end of a state that did not begin');
    for (const table of this.#tables.all()) {
      // A response to another call may have added a table that is younger than the state, so metadata is called before a drop.
      if (!state.tableIds.has(table.tableId) && !(await this.#exists(table.tableId, call))) this.#drop(dropped(table));
    }
    for (const name of this.#databases.keys()) if (!state.databases.has(name)) this.#databases.delete(name);
    for (const nodeId of this.#nodes.keys()) if (!state.nodeIds.has(nodeId)) this.#removeNode(nodeId);
    for (const name of this.#pipelines.keys()) if (!state.pipelines.has(name)) this.#putPipeline({ name, version: 0n });
    for (const name of this.users.names()) if (!state.users.has(name)) this.users.drop(name);
    this.views.keep(state.viewIds);
    this.#state = undefined;
    this.#changeCount++;
    this.#resetListeners.notify(version);
  }

  async #exists(tableId: number, call: Call): Promise<boolean> {
    try {
      await this.#options.metadata.getTable({ database: '', name: '', tableId }, call);
      return true;
    } catch (error) {
      if (error instanceof AlmanacError && error.code === 'table_not_found') return false;
      throw error;
    }
  }

  #putPipeline(pipeline: PipelineVersion): void {
    const isSame = this.#pipelines.get(pipeline.name)?.version === pipeline.version;
    // A state repeats what is known; any other event reports a change, maybe of an older version.
    if (isSame && this.#state !== undefined) return;
    this.#pipelines.set(pipeline.name, pipeline);
    this.#pipelineChanges++;
  }

  #putNode(node: NodeInfo): void {
    this.#nodes.set(node.nodeId, node);
    this.#nodeListeners.notify({ nodeId: node.nodeId, node });
  }

  #removeNode(nodeId: number): void {
    if (this.#nodes.delete(nodeId)) this.#nodeListeners.notify({ nodeId, node: undefined });
  }

  #drop(table: DroppedTable): void {
    if (!this.#tables.drop(table.tableId)) return;
    this.#changeCount++;
    this.#droppedListeners.notify(table);
  }

  #advance(version: bigint): void {
    // A state may be older than what the watch has delivered, if the catalog was restored from a copy.
    this.#watched = version;
    for (const waiter of this.#waiters) {
      if (waiter.version > version) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

function emptyState(): NamedByState {
  return {
    tableIds: new Set(),
    databases: new Set(),
    nodeIds: new Set(),
    pipelines: new Set(),
    users: new Set(),
    viewIds: new Set(),
  };
}

function dropped({ tableId, database, name, regions }: Table): DroppedTable {
  return { tableId, database, name, regionIds: regions.map((region) => region.regionId) };
}
