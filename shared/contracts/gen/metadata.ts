// Generated from proto/almanac/v1/metadata.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';
import type { Column, Database, Empty, RegionInfo, RegionManifest, Segment, SeriesFile, Table } from './common.js';

export interface MetadataService {
  /** Errors: database_already_exists, invalid_arguments. */
  createDatabase(request: CreateDatabaseRequest, call: Call): Promise<CreateDatabaseResponse>;
  /** Drops the database with all its tables, as DropTable does. Errors: database_not_found. */
  dropDatabase(request: DropDatabaseRequest, call: Call): Promise<DropDatabaseResponse>;
  listDatabases(request: Empty, call: Call): Promise<ListDatabasesResponse>;
  /** Errors: database_not_found, table_already_exists, invalid_arguments. */
  createTable(request: CreateTableRequest, call: Call): Promise<CreateTableResponse>;
  /**
   * Creates missing tables and adds missing columns; the first type of a column wins. Idempotent.
   * Errors: database_not_found, table_not_found (creation not wanted), invalid_arguments.
   */
  ensureTables(request: EnsureTablesRequest, call: Call): Promise<EnsureTablesResponse>;
  /** Errors: database_not_found, table_not_found. */
  getTable(request: GetTableRequest, call: Call): Promise<Table>;
  /** Errors: database_not_found. */
  listTables(request: ListTablesRequest, call: Call): Promise<ListTablesResponse>;
  /**
   * Retires the table id; its files are collected after a grace time. Owners of its regions that have not heard of it yet
   * may acknowledge batches still: the caller tells them (Ingester.DropTables). Errors: table_not_found.
   */
  dropTable(request: DropTableRequest, call: Call): Promise<DropTableResponse>;
  /**
   * Gives the table another name, other options or other columns, in one transaction. Columns are known by their ids; those
   * without one are new. A column keeps its use, and only fields can go, or get a type that has all of their values
   * (shared/schema/type-change.ts); which types they had metadata notes by itself. Errors: table_not_found,
   * table_already_exists (the name), illegal_state (the table is not of `schema_version` any more), invalid_arguments.
   */
  alterTable(request: AlterTableRequest, call: Call): Promise<AlterTableResponse>;
  /** Gives a database other options. Errors: database_not_found. */
  alterDatabase(request: AlterDatabaseRequest, call: Call): Promise<AlterDatabaseResponse>;
  /** Hides all rows up to the given sequence of each region. Errors: table_not_found, illegal_state (a segment straddles). */
  truncateTable(request: TruncateTableRequest, call: Call): Promise<TruncateTableResponse>;
  /** Errors: region_not_found. */
  getManifest(request: GetManifestRequest, call: Call): Promise<RegionManifest>;
  /**
   * One transaction: segments, series files and the region's new watermark. Accepted only under the open grant and from
   * the present watermark; a repeated commit of the same paths is answered again.
   * Errors: region_not_found, illegal_state (grant or watermark moved).
   */
  commitSegments(request: CommitSegmentsRequest, call: Call): Promise<RegionManifest>;
  /**
   * One transaction: segments take the place of others that have the same rows. Accepted only under the open grant, only
   * while all replaced ones are live, and only if no other segment of the same times stands between them in the order of
   * sequences; a repeated call is answered again. Errors: region_not_found, illegal_state.
   */
  replaceSegments(request: ReplaceSegmentsRequest, call: Call): Promise<RegionManifest>;
  /**
   * Takes segments whose rows have all expired out of the manifest; those that are not live are passed over. Accepted only
   * under the open grant. Errors: region_not_found, illegal_state.
   */
  expireSegments(request: ExpireSegmentsRequest, call: Call): Promise<RegionManifest>;
  /**
   * Makes the node known, or known again; its id is stable per slot. The first ingester that names its data folder makes
   * it the cluster's. Errors: illegal_state (the process has another data folder than the cluster), external (which
   * folder is the cluster's is not known, and this process cannot tell).
   */
  registerNode(request: RegisterNodeRequest, call: Call): Promise<RegisterNodeResponse>;
  /**
   * Renews the node's lease, tells its state, and answers which regions its owner shall seal now.
   * Errors: illegal_state (the node is not known: register again).
   */
  heartbeat(request: HeartbeatRequest, call: Call): Promise<HeartbeatResponse>;
  /** What the owner of a region needs to serve it. Errors: region_not_found, region_not_ready (another owner, or none). */
  openRegion(request: OpenRegionRequest, call: Call): Promise<OpenRegionResponse>;
  /**
   * Closes the grant of an epoch, of which every acknowledged row is committed, and opens the next one, in one
   * transaction. A repeated seal is answered again. Errors: region_not_found, illegal_state (grant or watermark moved, or the
   * region was opened since).
   */
  sealRegion(request: SealRegionRequest, call: Call): Promise<SealRegionResponse>;
  /**
   * Wishes a region moved; its owner hears of it with its next heartbeat.
   * Errors: region_not_found, invalid_arguments (no such node, or it cannot take regions).
   */
  moveRegion(request: MoveRegionRequest, call: Call): Promise<Empty>;
  /**
   * Closes the grants of a node that will not come back, without its log: rows that only it had are lost, and so are the
   * ids of the batches of these grants (`ids_since_epoch`). Its regions are granted anew.
   * Errors: invalid_arguments (no such ingester, or it is alive).
   */
  abandonNode(request: AbandonNodeRequest, call: Call): Promise<AbandonNodeResponse>;
  /** The node's open grants, with those tables. */
  listGrants(request: ListGrantsRequest, call: Call): Promise<ListGrantsResponse>;
  listNodes(request: Empty, call: Call): Promise<ListNodesResponse>;
  /**
   * All changes after the given catalog version, or the whole state if they are no longer known, then each new one as
   * it happens. Errors: resources_exhausted (the watcher is too slow; watch again), external (metadata stops).
   */
  watch(request: WatchRequest, call: Call): AsyncIterable<WatchEvent>;
  /** Paths that may be deleted: removed from the manifest longer ago than the grace time. */
  listGarbage(request: ListGarbageRequest, call: Call): Promise<ListGarbageResponse>;
  /** Forgets garbage after its files are deleted. */
  forgetGarbage(request: ForgetGarbageRequest, call: Call): Promise<Empty>;
}

export interface CreateDatabaseRequest {
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
  readonly ifNotExists: boolean;
}

export interface CreateDatabaseResponse {
  readonly database?: Database | undefined;
  readonly created: boolean;
  readonly catalogVersion: bigint;
}

export interface DropDatabaseRequest {
  readonly name: string;
  readonly ifExists: boolean;
}

/** A table that is gone, and who owned its regions when it went. */
export interface DroppedTable {
  readonly tableId: number;
  readonly name: string;
  readonly regions: readonly RegionInfo[];
}

export interface DropDatabaseResponse {
  readonly dropped: boolean;
  readonly catalogVersion: bigint;
  readonly tables: readonly DroppedTable[];
}

export interface ListDatabasesResponse {
  readonly databases: readonly Database[];
  readonly catalogVersion: bigint;
}

/** A column that shall exist; ids are given by metadata. */
export interface ColumnSpec {
  readonly name: string;
  readonly type: string;
  readonly kind: string;
  readonly nullable: boolean;
  readonly defaultSql: string;
  readonly comment: string;
}

export interface CreateTableRequest {
  readonly database: string;
  readonly name: string;
  readonly columns: readonly ColumnSpec[];
  readonly options: Readonly<Record<string, string>>;
  readonly ifNotExists: boolean;
  /** Zero: the configured default. */
  readonly regions: number;
  readonly primaryKey: readonly string[];
}

export interface CreateTableResponse {
  readonly table?: Table | undefined;
  readonly created: boolean;
  readonly catalogVersion: bigint;
}

export interface EnsureTable {
  readonly name: string;
  /** In the order in which a new table shall show them. */
  readonly columns: readonly ColumnSpec[];
  /** Only used when the table is made. */
  readonly options: Readonly<Record<string, string>>;
  /** Nobody asked for the merge_mode of the options: what the database says of its tables goes before it. */
  readonly isDefaultMergeMode?: boolean | undefined;
}

export interface EnsureTablesRequest {
  readonly database: string;
  readonly tables: readonly EnsureTable[];
  /** False: a missing table is an error; columns are still added. */
  readonly create: boolean;
}

export interface EnsureTablesResponse {
  readonly tables: readonly Table[];
  readonly catalogVersion: bigint;
}

/** By id if `table_id` is not zero, else by name. */
export interface GetTableRequest {
  readonly database: string;
  readonly name: string;
  readonly tableId: number;
}

export interface ListTablesRequest {
  readonly database: string;
}

export interface ListTablesResponse {
  readonly tables: readonly Table[];
}

export interface DropTableRequest {
  readonly database: string;
  readonly name: string;
  readonly ifExists: boolean;
}

export interface DropTableResponse {
  readonly dropped: boolean;
  readonly catalogVersion: bigint;
  /** The table, if it was there. */
  readonly table?: DroppedTable | undefined;
}

export interface AlterTableRequest {
  readonly tableId: number;
  /** The form that the change is meant for. */
  readonly schemaVersion: number;
  readonly name: string;
  /** All columns of the new form, in order; id 0: a new one. */
  readonly columns: readonly Column[];
  readonly options: Readonly<Record<string, string>>;
  readonly primaryKey: readonly string[];
}

export interface AlterTableResponse {
  readonly table?: Table | undefined;
  readonly catalogVersion: bigint;
}

export interface AlterDatabaseRequest {
  readonly name: string;
  /** All options of the new form. */
  readonly options: Readonly<Record<string, string>>;
}

export interface AlterDatabaseResponse {
  readonly database?: Database | undefined;
  readonly catalogVersion: bigint;
}

export interface TruncatePoint {
  readonly regionId: number;
  readonly sequence: bigint;
}

export interface TruncateTableRequest {
  readonly tableId: number;
  readonly points: readonly TruncatePoint[];
}

export interface TruncateTableResponse {
  readonly catalogVersion: bigint;
  /** One a region, as it stands after the statement. */
  readonly regions: readonly RegionManifest[];
}

export interface GetManifestRequest {
  readonly regionId: number;
}

export interface CommitSegmentsRequest {
  readonly regionId: number;
  readonly epoch: number;
  readonly watermarkFrom: bigint;
  readonly watermarkTo: bigint;
  readonly segments: readonly Segment[];
  readonly seriesFiles: readonly SeriesFile[];
}

export interface ReplaceSegmentsRequest {
  readonly regionId: number;
  readonly epoch: number;
  /** Paths of the segments that are replaced. */
  readonly replaced: readonly string[];
  readonly segments: readonly Segment[];
}

export interface ExpireSegmentsRequest {
  readonly regionId: number;
  readonly epoch: number;
  readonly paths: readonly string[];
}

export interface RegisterNodeRequest {
  /** `gateway`, `ingester`, `querier`, `metadata` or `standalone`. */
  readonly role: string;
  /** Address that others reach it at; empty in one process. */
  readonly addr: string;
  /** Identity of an ingester's slot: a text that is made with the slot and stays in it; empty for roles without state. */
  readonly slot: string;
  readonly version: string;
  /**
   * Identity of the data folder that the process reads or writes segments in; empty: it has none, or is of a release
   * that does not tell, and is not checked.
   */
  readonly dataFolderId: string;
  /** The cluster that the folder belongs to; empty: none yet. */
  readonly clusterId: string;
}

export interface RegisterNodeResponse {
  readonly nodeId: number;
  /** A node that is not heard of for so long counts as gone. */
  readonly leaseMs: number;
  /** What the folder of an ingester belongs to from now on. */
  readonly clusterId: string;
  /** Whether the cluster has a data folder, which then is the one of this node. */
  readonly dataFolderKnown: boolean;
}

export interface HeartbeatRequest {
  readonly nodeId: number;
  /** `starting`, `ready`, `draining`, or `left` as the last word of a node that ends. */
  readonly state: string;
  /**
   * The address that it registered. Another one is known if an earlier process of the node was heard of later than this
   * one: it has to register again. Not looked at if it is not given.
   */
  readonly addr?: string | undefined;
}

export interface HeartbeatResponse {
  /** Regions of the node that it shall seal now, because they are wanted elsewhere. */
  readonly regionIds: readonly number[];
  /** For a node that drains: whether any other node can take its regions. */
  readonly hasTakers: boolean;
  /** As in `RegisterNodeResponse`. */
  readonly dataFolderKnown: boolean;
}

export interface OpenRegionRequest {
  readonly regionId: number;
  readonly nodeId: number;
}

export interface OpenRegionResponse {
  readonly table?: Table | undefined;
  readonly manifest?: RegionManifest | undefined;
  /** As the last owner's seal gave it; empty if there was none. */
  readonly appliedIds: Uint8Array;
  /** Names this opening. Those of before are void, and this one when metadata starts again. */
  readonly opening: bigint;
}

export interface SealRegionRequest {
  readonly regionId: number;
  readonly epoch: number;
  readonly nodeId: number;
  /** Where the region stands: every row that was acknowledged is in segments. */
  readonly watermark: bigint;
  /** Ids of the batches that were applied, for the next owner (docs/formats/applied-ids.md). */
  readonly appliedIds: Uint8Array;
  /** Who shall have the region next; zero: metadata chooses. */
  readonly toNodeId: number;
  /** The last opening of the region: a seal of a process that was killed does not close the grant of its successor. */
  readonly opening: bigint;
}

export interface SealRegionResponse {
  /** The region under its next grant; its node is zero if nobody can take it now. */
  readonly region?: RegionInfo | undefined;
}

export interface MoveRegionRequest {
  readonly regionId: number;
  readonly toNodeId: number;
}

export interface AbandonNodeRequest {
  readonly nodeId: number;
}

export interface AbandonNodeResponse {
  readonly regionIds: readonly number[];
}

export interface NodeInfo {
  readonly nodeId: number;
  readonly role: string;
  readonly addr: string;
  readonly version: string;
  readonly registeredMs: number;
  /** As in `HeartbeatRequest`, or `gone` while its lease has run out. */
  readonly state: string;
  readonly slot: string;
  /** Regions that it owns. */
  readonly regionCount: number;
}

export interface ListNodesResponse {
  readonly nodes: readonly NodeInfo[];
}

export interface ListGrantsRequest {
  readonly nodeId: number;
}

export interface ListGrantsResponse {
  readonly tables: readonly Table[];
  /** Present watermark of each granted region, in the order of `region_ids`. */
  readonly regionIds: readonly number[];
  readonly watermarks: readonly bigint[];
}

export interface WatchRequest {
  readonly afterVersion: bigint;
}

/**
 * One change. Exactly one of `table`, `database`, `manifest`, `node` or a dropped id is set. A watcher whose version is older
 * than the history gets all databases, tables and nodes between `state_begin` and `state_end`: what it knows beside them is gone.
 */
export interface WatchEvent {
  readonly catalogVersion: bigint;
  /**
   * `database_created`, `database_dropped`, `table_changed`, `table_dropped`, `manifest_changed`,
   * `node_changed`, `node_removed`, `state_begin`, `state_end`.
   */
  readonly kind: string;
  readonly table?: Table | undefined;
  readonly database?: Database | undefined;
  readonly manifest?: RegionManifest | undefined;
  readonly droppedTableId: number;
  readonly droppedDatabase: string;
  /** Names of what a `table_dropped` event removed. */
  readonly droppedTableDatabase: string;
  readonly droppedTableName: string;
  readonly droppedRegionIds: readonly number[];
  readonly node?: NodeInfo | undefined;
  readonly removedNodeId: number;
}

export interface ListGarbageRequest {
  readonly removedBeforeMs: number;
  readonly limit: number;
}

export interface ListGarbageResponse {
  readonly paths: readonly string[];
}

export interface ForgetGarbageRequest {
  readonly paths: readonly string[];
}
