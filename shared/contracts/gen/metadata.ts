// Generated from proto/almanac/v1/metadata.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';
import type {
  Column,
  ColumnIndex,
  Database,
  Empty,
  RegionInfo,
  RegionManifest,
  Segment,
  SeriesFile,
  Table,
} from './common.js';

export interface MetadataService {
  /** Errors: database_already_exists, invalid_arguments. */
  createDatabase(request: CreateDatabaseRequest, call: Call): Promise<CreateDatabaseResponse>;
  /** Drops the database with all its tables, as DropTable does. Errors: database_not_found. */
  dropDatabase(request: DropDatabaseRequest, call: Call): Promise<DropDatabaseResponse>;
  listDatabases(request: Empty, call: Call): Promise<ListDatabasesResponse>;
  /** Errors: database_not_found, table_already_exists, invalid_arguments. */
  createTable(request: CreateTableRequest, call: Call): Promise<CreateTableResponse>;
  /**
   * Creates missing tables and adds missing columns; the first type of a column wins. Idempotent. Errors:
   * database_not_found, table_not_found (creation disabled), invalid_arguments.
   */
  ensureTables(request: EnsureTablesRequest, call: Call): Promise<EnsureTablesResponse>;
  /** Errors: database_not_found, table_not_found. */
  getTable(request: GetTableRequest, call: Call): Promise<Table>;
  /** Errors: database_not_found. */
  listTables(request: ListTablesRequest, call: Call): Promise<ListTablesResponse>;
  /**
   * Retires the table id; its files are collected after a grace time. Owners of its regions that do not know yet may
   * still acknowledge batches: the caller informs them (Ingester.DropTables). Errors: table_not_found.
   */
  dropTable(request: DropTableRequest, call: Call): Promise<DropTableResponse>;
  /**
   * Changes name, options or columns of the table, in one transaction. Columns are identified by ids; those without one
   * are new. A column keeps its kind, and only fields can be removed, or get a type that holds all of their values
   * (shared/schema/type-change.ts). Metadata records former types itself. Errors: table_not_found, table_already_exists
   * (the name), illegal_state (`schema_version` is not the table's), invalid_arguments.
   */
  alterTable(request: AlterTableRequest, call: Call): Promise<AlterTableResponse>;
  /** Changes the options of a database. Errors: database_not_found. */
  alterDatabase(request: AlterDatabaseRequest, call: Call): Promise<AlterDatabaseResponse>;
  /**
   * Hides all rows up to the given sequence of each region. Errors: table_not_found, illegal_state (a segment has rows
   * on both sides).
   */
  truncateTable(request: TruncateTableRequest, call: Call): Promise<TruncateTableResponse>;
  /** Errors: region_not_found. */
  getManifest(request: GetManifestRequest, call: Call): Promise<RegionManifest>;
  /**
   * Commits segments, series files and the region's new watermark, in one transaction. Requires the open grant and the
   * present watermark; a repeated commit of the same paths succeeds again. Errors: region_not_found, illegal_state
   * (grant or watermark changed).
   */
  commitSegments(request: CommitSegmentsRequest, call: Call): Promise<RegionManifest>;
  /**
   * Replaces segments with others that have the same rows, in one transaction. Requires the open grant, that all
   * replaced segments are live, and that no other segment of the same times is between them in sequence order; a
   * repeated call succeeds again. Errors: region_not_found, illegal_state.
   */
  replaceSegments(request: ReplaceSegmentsRequest, call: Call): Promise<RegionManifest>;
  /**
   * Removes segments whose rows have all expired from the manifest; segments that are not live are ignored. Requires
   * the open grant. Errors: region_not_found, illegal_state.
   */
  expireSegments(request: ExpireSegmentsRequest, call: Call): Promise<RegionManifest>;
  /**
   * Registers the node, possibly again; its id is stable per slot. The first ingester with a data folder makes it the
   * cluster's. Errors: illegal_state (the process has another data folder than the cluster), external (the cluster's
   * folder is not known yet, and this process cannot determine it).
   */
  registerNode(request: RegisterNodeRequest, call: Call): Promise<RegisterNodeResponse>;
  /**
   * Renews the node's lease, reports its state, and returns the regions that it should seal now. Errors: illegal_state
   * (the node has to register again).
   */
  heartbeat(request: HeartbeatRequest, call: Call): Promise<HeartbeatResponse>;
  /**
   * Returns what the owner of a region needs to serve it. Errors: region_not_found, region_not_ready (another owner, or
   * none).
   */
  openRegion(request: OpenRegionRequest, call: Call): Promise<OpenRegionResponse>;
  /**
   * Closes the grant of an epoch, all of whose acknowledged rows are committed, and opens the next one, in one
   * transaction. A repeated seal succeeds again. Errors: region_not_found, illegal_state (grant or watermark changed,
   * or the region was opened since).
   */
  sealRegion(request: SealRegionRequest, call: Call): Promise<SealRegionResponse>;
  /**
   * Plans the move of a region; its owner learns of it with its next heartbeat. Errors: region_not_found,
   * invalid_arguments (no such node, or it cannot take regions).
   */
  moveRegion(request: MoveRegionRequest, call: Call): Promise<Empty>;
  /**
   * Closes the grants of a node that will not come back, without its log: rows that only it had are lost, and so are
   * the batch ids of these grants (`ids_since_epoch`). Grants its regions to other nodes. Errors: invalid_arguments (no
   * such ingester, or it is alive).
   */
  abandonNode(request: AbandonNodeRequest, call: Call): Promise<AbandonNodeResponse>;
  /** Returns the node's open grants, with their tables. */
  listGrants(request: ListGrantsRequest, call: Call): Promise<ListGrantsResponse>;
  listNodes(request: Empty, call: Call): Promise<ListNodesResponse>;
  /**
   * Returns all changes after the given catalog version, or the whole state if they are not in the history, then each
   * new one as it happens. Errors: resources_exhausted (the watcher is too slow; watch again), external (metadata
   * stops).
   */
  watch(request: WatchRequest, call: Call): AsyncIterable<WatchEvent>;
  /** Returns the sizes of the regions of a database that have files. Errors: database_not_found. */
  listRegionSizes(request: ListRegionSizesRequest, call: Call): Promise<ListRegionSizesResponse>;
  /** Returns paths that may be deleted: removed from the manifest longer ago than the grace time. */
  listGarbage(request: ListGarbageRequest, call: Call): Promise<ListGarbageResponse>;
  /** Removes garbage records after the files are deleted. */
  forgetGarbage(request: ForgetGarbageRequest, call: Call): Promise<Empty>;
  /** Stores a new version of a pipeline, which becomes its latest. */
  putPipeline(request: PutPipelineRequest, call: Call): Promise<PutPipelineResponse>;
  getPipeline(request: GetPipelineRequest, call: Call): Promise<GetPipelineResponse>;
  deletePipeline(request: DeletePipelineRequest, call: Call): Promise<DeletePipelineResponse>;
  /** All versions, by name, the newest first. */
  listPipelines(request: Empty, call: Call): Promise<ListPipelinesResponse>;
  /** Stores a dashboard, or replaces it. Errors: database_not_found, invalid_arguments. */
  putDashboard(request: PutDashboardRequest, call: Call): Promise<PutDashboardResponse>;
  /** Errors: database_not_found. */
  deleteDashboard(request: DashboardName, call: Call): Promise<DeleteDashboardResponse>;
  /** All dashboards of a database, or the one with a name. Errors: database_not_found. */
  listDashboards(request: DashboardName, call: Call): Promise<ListDashboardsResponse>;
  /** Stores a view. Errors: database_not_found, table_already_exists (a table or a view has the name), invalid_arguments. */
  createView(request: CreateViewRequest, call: Call): Promise<CreateViewResponse>;
  /** Errors: database_not_found, table_not_found. */
  dropView(request: DropViewRequest, call: Call): Promise<DropViewResponse>;
  /** Errors: database_not_found, table_not_found. */
  getView(request: ViewName, call: Call): Promise<View>;
  /** Stores a user without rights. Errors: invalid_arguments. */
  createUser(request: CreateUserRequest, call: Call): Promise<ChangeUserResponse>;
  /** Replaces what checks the password. Errors: invalid_arguments (there is no such user). */
  alterUser(request: AlterUserRequest, call: Call): Promise<ChangeUserResponse>;
  /** Drops a user with all grants and tokens. Errors: invalid_arguments. */
  dropUser(request: DropUserRequest, call: Call): Promise<ChangeUserResponse>;
  /** Adds the rights of a mode to those that the user has in the database. Errors: invalid_arguments. */
  grantMode(request: UserGrantRequest, call: Call): Promise<ChangeUserResponse>;
  /** Removes the rights of a mode. Errors: invalid_arguments (the user has none of them). */
  revokeMode(request: UserGrantRequest, call: Call): Promise<ChangeUserResponse>;
  /** Errors: invalid_arguments. */
  createToken(request: CreateTokenRequest, call: Call): Promise<ChangeUserResponse>;
  /** Errors: invalid_arguments. */
  dropToken(request: DropTokenRequest, call: Call): Promise<ChangeUserResponse>;
  /** All users by name, without what checks their passwords and tokens. */
  listUsers(request: Empty, call: Call): Promise<ListUsersResponse>;
  /** Keeps a ticket in memory for a minute. Errors: rate_limited (a limit of tickets). */
  issueTicket(request: Ticket, call: Call): Promise<Empty>;
  /** Ends a ticket and returns it: a second call, of any gateway, finds nothing. */
  redeemTicket(request: RedeemTicketRequest, call: Call): Promise<RedeemTicketResponse>;
  /**
   * Stores a flow, or replaces the definition of one, which then starts again. Errors: flow_already_exists,
   * invalid_arguments (a limit), illegal_state (the flow to be replaced has another sink database than expected).
   */
  createFlow(request: CreateFlowRequest, call: Call): Promise<CreateFlowResponse>;
  /** Errors: flow_not_found. */
  dropFlow(request: DropFlowRequest, call: Call): Promise<DropFlowResponse>;
  /** All flows by name, without positions. */
  listFlows(request: Empty, call: Call): Promise<ListFlowsResponse>;
  /** Errors: flow_not_found. */
  getFlow(request: GetFlowRequest, call: Call): Promise<Flow>;
  /** Renews a querier's lease on its flows and returns them. Flows without a live owner are given to live queriers. */
  leaseFlows(request: LeaseFlowsRequest, call: Call): Promise<LeaseFlowsResponse>;
  /** Time ranges in which rows of the sources changed in a way that their sequences do not show. */
  listFlowChanges(request: ListFlowChangesRequest, call: Call): Promise<ListFlowChangesResponse>;
  /** Records a run. Errors: illegal_state (the flow has another owner or definition, or was dropped). */
  commitFlow(request: CommitFlowRequest, call: Call): Promise<Empty>;
  /** Requests a run now. Errors: flow_not_found. */
  requestFlowFlush(request: RequestFlowFlushRequest, call: Call): Promise<RequestFlowFlushResponse>;
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

/** A dropped table, and the owners of its regions at that time. */
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

/** A requested column; metadata assigns ids. */
export interface ColumnSpec {
  readonly name: string;
  readonly type: string;
  readonly kind: string;
  readonly nullable: boolean;
  readonly defaultSql: string;
  readonly comment: string;
  readonly indexes: readonly ColumnIndex[];
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
  /** In the order that a new table should have. */
  readonly columns: readonly ColumnSpec[];
  /** Only used when the table is created. */
  readonly options: Readonly<Record<string, string>>;
  /** The request does not name a merge_mode explicitly: that of the database takes precedence over `options`. */
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
  /** The table, if it existed. */
  readonly table?: DroppedTable | undefined;
}

export interface AlterTableRequest {
  readonly tableId: number;
  /** Schema version that the change is based on. */
  readonly schemaVersion: number;
  readonly name: string;
  /** All columns after the change, in order; id 0: new. */
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
  /** All options after the change. */
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
  /** One per region, as of after the statement. */
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
  /** Time range of the deletions that the segments lack because the flush applied them. */
  readonly deletedFirst?: bigint | undefined;
  readonly deletedLast?: bigint | undefined;
}

export interface ReplaceSegmentsRequest {
  readonly regionId: number;
  readonly epoch: number;
  /** Paths of the replaced segments. */
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
  /** Address at which others reach it; empty within one process. */
  readonly addr: string;
  /** Identity of an ingester's slot, created with the slot and never changed; empty for roles without state. */
  readonly slot: string;
  readonly version: string;
  /**
   * Id of the data folder in which the process reads or writes segments; empty: none, or a release that does not report
   * it, and then it is not checked.
   */
  readonly dataFolderId: string;
  /** Cluster that the folder belongs to; empty: none yet. */
  readonly clusterId: string;
}

export interface RegisterNodeResponse {
  readonly nodeId: number;
  /** Time without a heartbeat after which a node counts as gone. */
  readonly leaseMs: number;
  /** Cluster that the data folder of an ingester belongs to from now on. */
  readonly clusterId: string;
  /** Whether the cluster has a data folder, which then is this node's. */
  readonly dataFolderKnown: boolean;
}

export interface HeartbeatRequest {
  readonly nodeId: number;
  /** `starting`, `ready`, `draining`, or `left` in the last heartbeat of a node that ends. */
  readonly state: string;
  /**
   * The address that it registered. If another one is known, because a message of an earlier process of the node was
   * delayed, this process has to register again. Absent: not checked.
   */
  readonly addr?: string | undefined;
}

export interface HeartbeatResponse {
  /** Regions of the node that it should seal now, because they should move. */
  readonly regionIds: readonly number[];
  /** For a draining node: whether another node can take its regions. */
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
  /** From the last owner's seal; empty if there was none. */
  readonly appliedIds: Uint8Array;
  /** Id of this opening. It invalidates earlier ones, and becomes invalid when metadata restarts. */
  readonly opening: bigint;
}

export interface SealRegionRequest {
  readonly regionId: number;
  readonly epoch: number;
  readonly nodeId: number;
  /** The region's watermark: every acknowledged row is in segments. */
  readonly watermark: bigint;
  /** Ids of applied batches, for the next owner (docs/formats/applied-ids.md). */
  readonly appliedIds: Uint8Array;
  /** Next owner; zero: metadata chooses. */
  readonly toNodeId: number;
  /** Last opening of the region: a seal of a killed process must not close its successor's grant. */
  readonly opening: bigint;
}

export interface SealRegionResponse {
  /** The region under its next grant; its node is zero if no node can take it now. */
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
  /** As in `HeartbeatRequest`, or `gone` after its lease expired. */
  readonly state: string;
  readonly slot: string;
  /** Number of regions that it owns. */
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
 * One change. Exactly one of `table`, `database`, `manifest`, `node` or a dropped id is set. A watcher whose version is
 * older than the history gets all databases, tables and nodes between `state_begin` and `state_end`: anything else that
 * it knows was removed.
 */
export interface WatchEvent {
  readonly catalogVersion: bigint;
  /**
   * `database_created`, `database_dropped`, `table_changed`, `table_dropped`, `manifest_changed`,
   * `node_changed`, `node_removed`, `pipeline_changed`, `user_changed`, `user_dropped`, `view_changed`,
   * `view_dropped`, `state_begin`, `state_end`.
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
  readonly pipeline?: PipelineVersion | undefined;
  readonly user?: StoredUser | undefined;
  readonly droppedUser: string;
  readonly view?: View | undefined;
  readonly droppedView?: ViewName | undefined;
}

/** A column of a view, as of its creation. */
export interface ViewColumn {
  readonly name: string;
  /** Its name in the result of the query. */
  readonly source: string;
  /** Native type name. */
  readonly type: string;
}

/** A query with a name, which other queries read like a table. */
export interface View {
  /** Never reused; a view that is replaced gets another one. */
  readonly viewId: number;
  readonly database: string;
  readonly name: string;
  readonly columns: readonly ViewColumn[];
  readonly query: string;
  /** Database of the unqualified names in the query. */
  readonly queryDatabase: string;
  /** The statement that created it, with normalised white space. */
  readonly statement: string;
  readonly createdMs: number;
}

export interface ViewName {
  readonly database: string;
  readonly name: string;
}

export interface CreateViewRequest {
  /** Metadata sets `view_id` and `created_ms`. */
  readonly view?: View | undefined;
  readonly orReplace: boolean;
  readonly ifNotExists: boolean;
}

export interface CreateViewResponse {
  /** False: `if_not_exists`, and there is one. */
  readonly created: boolean;
  readonly catalogVersion: bigint;
}

export interface DropViewRequest {
  readonly database: string;
  readonly name: string;
  readonly ifExists: boolean;
}

export interface DropViewResponse {
  readonly dropped: boolean;
  readonly catalogVersion: bigint;
}

/** A user that SQL manages. */
export interface StoredUser {
  readonly name: string;
  /** A line of text that checks the password (shared/auth/password.ts); empty in lists. */
  readonly verifier: string;
  readonly grants: readonly UserGrant[];
  readonly tokens: readonly UserToken[];
}

/** What a user may do in a database. */
export interface UserGrant {
  /** Empty: every database. */
  readonly database: string;
  /** `read`, `write`, `read_write` or `admin`. */
  readonly mode: string;
}

export interface UserToken {
  readonly name: string;
  /** SHA-256 in hexadecimal digits; empty in lists. */
  readonly hash: string;
  readonly createdMs: number;
}

export interface CreateUserRequest {
  readonly name: string;
  readonly verifier: string;
  readonly ifNotExists: boolean;
}

export interface AlterUserRequest {
  readonly name: string;
  readonly verifier: string;
}

export interface DropUserRequest {
  readonly name: string;
  readonly ifExists: boolean;
}

export interface UserGrantRequest {
  readonly user: string;
  /** Empty: every database. */
  readonly database: string;
  readonly mode: string;
}

export interface CreateTokenRequest {
  readonly user: string;
  readonly name: string;
  readonly hash: string;
}

export interface DropTokenRequest {
  readonly user: string;
  readonly name: string;
}

export interface ChangeUserResponse {
  /** False if nothing had to change. */
  readonly changed: boolean;
  readonly catalogVersion: bigint;
}

export interface ListUsersResponse {
  readonly users: readonly StoredUser[];
}

/** What lets one request act for a user, without other credentials. */
export interface Ticket {
  /** SHA-256 of its secret. */
  readonly hash: string;
  /** SHA-256 of the path and query that the request must have. */
  readonly targetHash: string;
  readonly user: string;
  /** SHA-256 of the token with which it was requested; empty: it was a password. */
  readonly tokenHash: string;
  /** SHA-256 of the secret and of what checks the password, if it was a password. */
  readonly verifierHash: string;
}

export interface RedeemTicketRequest {
  readonly hash: string;
}

export interface RedeemTicketResponse {
  /** Missing: it was never issued, is over, or was used. */
  readonly ticket?: Ticket | undefined;
}

/**
 * A version of a pipeline: the instant of its creation in nanoseconds since 1970. In events the latest; zero: there is
 * none any more.
 */
export interface PipelineVersion {
  readonly name: string;
  readonly version: bigint;
}

export interface PutPipelineRequest {
  readonly name: string;
  readonly text: string;
}

export interface PutPipelineResponse {
  readonly version: bigint;
  readonly catalogVersion: bigint;
}

export interface GetPipelineRequest {
  readonly name: string;
  /** Zero: the latest. */
  readonly version: bigint;
}

export interface GetPipelineResponse {
  /** Zero: there is none. */
  readonly version: bigint;
  readonly text: string;
}

export interface DeletePipelineRequest {
  readonly name: string;
  readonly version: bigint;
}

export interface DeletePipelineResponse {
  readonly deleted: boolean;
  readonly catalogVersion: bigint;
}

export interface ListPipelinesResponse {
  readonly pipelines: readonly PipelineVersion[];
}

export interface DashboardName {
  readonly database: string;
  /** Empty, where a list is requested: all of them. */
  readonly name: string;
}

/** A dashboard: any text, such as JSON. */
export interface Dashboard {
  readonly name: string;
  readonly definition: string;
  /** Set by the server: another one for any other definition. */
  readonly etag: string;
}

export interface PutDashboardRequest {
  readonly database: string;
  readonly dashboard?: Dashboard | undefined;
  /** If set, only a dashboard with this etag is replaced; if empty, none is. */
  readonly replacedEtag?: string | undefined;
}

export interface PutDashboardResponse {
  /** Whether there is another dashboard, or none, than the one to replace: nothing is stored. */
  readonly conflict: boolean;
  /** Of the dashboard that is there now; empty if there is none. */
  readonly etag: string;
}

export interface DeleteDashboardResponse {
  readonly deleted: boolean;
}

export interface ListDashboardsResponse {
  readonly dashboards: readonly Dashboard[];
}

export interface ListRegionSizesRequest {
  readonly database: string;
}

export interface ListRegionSizesResponse {
  readonly regions: readonly RegionSize[];
}

/** The live files of a region. */
export interface RegionSize {
  readonly regionId: number;
  readonly segments: number;
  readonly rows: number;
  /** Of segments and series files. */
  readonly bytes: number;
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

/** A table that a flow reads; id 0 if it did not exist when the flow was created. */
export interface FlowSource {
  readonly database: string;
  readonly name: string;
  readonly tableId: number;
}

/** Kind of access that a flow has to a database; an empty name: to every one. */
export interface FlowGrant {
  readonly database: string;
  readonly mode: string;
}

/** What a flow may do: what the user who created it might read then, and writes to its sink. */
export interface FlowRights {
  readonly user: string;
  readonly grants: readonly FlowGrant[];
}

/** What the results of a flow depend on besides source rows. */
export interface FlowInputs {
  /** 0: unknown. */
  readonly sinkTableId: number;
  /** Views that the query reads, ascending. A view that is replaced gets another ID. */
  readonly viewIds: readonly number[];
}

/** Definition of a flow, which only queriers interpret, apart from its name, sink and sources. */
export interface FlowSpec {
  readonly name: string;
  /** Database and time zone of the session that created the flow. */
  readonly database: string;
  readonly timezone: string;
  /** SQL of the query, as written. */
  readonly query: string;
  readonly sinkDatabase: string;
  readonly sinkTable: string;
  readonly sources: readonly FlowSource[];
  /** Whether each source row yields at most one row by itself, so that the flow only reads new rows. */
  readonly isStreaming: boolean;
  /** Intervals in milliseconds, and as written; 0: none. */
  readonly expireAfterMs: number;
  readonly expireAfter: string;
  readonly evalIntervalMs: number;
  readonly evalInterval: string;
  readonly comment: string;
  readonly options: Readonly<Record<string, string>>;
  /** Missing: it was created without a user and may do everything. */
  readonly rights?: FlowRights | undefined;
}

/** Last sequence of a region that a flow has processed. */
export interface FlowPosition {
  readonly regionId: number;
  readonly sequence: bigint;
}

export interface Flow {
  readonly flowId: number;
  readonly spec?: FlowSpec | undefined;
  /** Number of the definition, from 1. */
  readonly version: number;
  readonly nodeId: number;
  /** Number of the owner, from 1. */
  readonly epoch: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** End of the last successful run; 0: none. */
  readonly lastRunMs: number;
  /** Why the last run failed; empty if it succeeded. */
  readonly lastError: string;
  readonly positions: readonly FlowPosition[];
  /** Tickets of `RequestFlowFlush`: the last one, the last that a run has honoured, and the outcome of that run. */
  readonly flushRequested: bigint;
  readonly flushDone: bigint;
  readonly flushRows: bigint;
  readonly flushError: string;
  /** Whether results may be stored that no source row explains, because the catalog was restored from a backup. */
  readonly needsRebuild: boolean;
  /** As of the last successful run, or of the definition before the first one. */
  readonly inputs?: FlowInputs | undefined;
}

export interface CreateFlowRequest {
  readonly spec?: FlowSpec | undefined;
  readonly orReplace: boolean;
  readonly ifNotExists: boolean;
  /** Where a streaming flow begins. */
  readonly positions: readonly FlowPosition[];
  readonly inputs?: FlowInputs | undefined;
  /** Database of the sink of the flow that may be replaced; empty: none was found. */
  readonly replacedSinkDatabase: string;
}

export interface CreateFlowResponse {
  readonly created: boolean;
  readonly flowId: number;
}

export interface DropFlowRequest {
  readonly name: string;
  readonly ifExists: boolean;
}

export interface DropFlowResponse {
  readonly dropped: boolean;
}

export interface ListFlowsResponse {
  readonly flows: readonly Flow[];
}

export interface GetFlowRequest {
  readonly flowId: number;
}

export interface LeaseFlowsRequest {
  readonly nodeId: number;
  /** The querier stops and writes nothing more: its flows may get other owners at once. */
  readonly release: boolean;
}

/** A flow that a querier owns until its lease ends. */
export interface FlowLease {
  readonly flowId: number;
  readonly version: number;
  readonly epoch: number;
  readonly flushRequested: bigint;
  readonly flushDone: bigint;
  /** Identifies the sink: flows into one run one after the other. */
  readonly sink: string;
}

export interface LeaseFlowsResponse {
  readonly leases: readonly FlowLease[];
  /** Duration of the lease from the time of the request. */
  readonly leaseMs: number;
}

export interface ListFlowChangesRequest {
  readonly flowId: number;
}

export interface FlowChange {
  readonly changeId: bigint;
  readonly regionId: number;
  /** First and last time index value, in the column's unit. */
  readonly timeFirst: bigint;
  readonly timeLast: bigint;
}

export interface ListFlowChangesResponse {
  readonly changes: readonly FlowChange[];
}

export interface CommitFlowRequest {
  readonly flowId: number;
  readonly version: number;
  readonly epoch: number;
  /** All positions after the run. Empty: they stay. A position of zero only announces that the region will be read. */
  readonly positions: readonly FlowPosition[];
  /** Changes that the run has processed. */
  readonly changeIds: readonly bigint[];
  /** 0: this is no end of a run. */
  readonly runMs: number;
  /** Why the run failed; empty: it succeeded. */
  readonly error: string;
  /** Ticket that the run honours; 0: none. */
  readonly flushTicket: bigint;
  readonly flushRows: bigint;
  /** The error says what the flow waits for. The run did nothing, and is no failure of a flush. */
  readonly isWaiting: boolean;
  /** What a successful run depended on; missing: as before. */
  readonly inputs?: FlowInputs | undefined;
}

export interface RequestFlowFlushRequest {
  readonly name: string;
}

export interface RequestFlowFlushResponse {
  readonly flowId: number;
  readonly ticket: bigint;
}
