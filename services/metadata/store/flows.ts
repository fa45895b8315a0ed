import type {
  CommitFlowRequest,
  Flow,
  FlowChange,
  FlowInputs,
  FlowPosition,
  FlowSpec,
} from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

interface FlowRow {
  flow_id: bigint;
  name: string;
  spec: string;
  version: bigint;
  node_id: bigint;
  epoch: bigint;
  created_ms: bigint;
  updated_ms: bigint;
  last_run_ms: bigint;
  last_error: string;
  flush_requested: bigint;
  flush_done: bigint;
  flush_rows: bigint;
  flush_error: string;
  needs_rebuild: bigint;
  sink_table_id: bigint;
  view_ids: string;
}

interface ChangeRow {
  change_id: bigint;
  region_id: bigint;
  time_first: bigint;
  time_last: bigint;
}

/** Changes of a flow above which those of a region become one, with the time range of all. */
const CHANGES_MAX = 1000;
/** Above every sequence: the change concerns all flows. */
const ANY_SEQUENCE = 2n ** 63n - 1n;

/** SQL of the tables of flows. */
export class FlowStore {
  readonly #byName;
  readonly #byId;
  readonly #all;
  readonly #count;
  readonly #insert;
  readonly #replace;
  readonly #delete;
  readonly #setOwner;
  readonly #requestFlush;
  readonly #setOutcome;
  readonly #setFlushed;
  readonly #setInputs;
  readonly #positions;
  readonly #announce;
  readonly #putPosition;
  readonly #clearPositions;
  readonly #changes;
  readonly #addChanges;
  readonly #crowded;
  readonly #joinChanges;
  readonly #deleteChange;
  readonly #clearChanges;
  readonly #insertChange;

  constructor(connection: CatalogConnection) {
    this.#byName = connection.prepare<[string], FlowRow>('SELECT * FROM flows WHERE name = ?');
    this.#byId = connection.prepare<[number], FlowRow>('SELECT * FROM flows WHERE flow_id = ?');
    this.#all = connection.prepare<[], FlowRow>('SELECT * FROM flows ORDER BY name');
    this.#count = connection.prepare<[], { count: bigint }>('SELECT count(*) AS count FROM flows');
    this.#insert = connection.prepare<[string, string, number, number, number], { flow_id: bigint }>(
      `INSERT INTO flows (name, spec, is_streaming, version, node_id, epoch, created_ms, updated_ms, last_run_ms,
         last_error, flush_requested, flush_done, flush_rows, flush_error, needs_rebuild)
       VALUES (?, ?, ?, 1, 0, 0, ?, ?, 0, '', 0, 0, 0, '', 0) RETURNING flow_id`,
    );
    this.#replace = connection.prepare<[string, number, number, number]>(
      `UPDATE flows SET spec = ?, is_streaming = ?, version = version + 1, updated_ms = ?, last_error = '',
         needs_rebuild = 0, sink_table_id = 0, view_ids = '[]' WHERE flow_id = ?`,
    );
    this.#delete = connection.prepare<[number]>('DELETE FROM flows WHERE flow_id = ?');
    this.#setOwner = connection.prepare<[number, number]>(
      'UPDATE flows SET node_id = ?, epoch = epoch + 1 WHERE flow_id = ?',
    );
    this.#requestFlush = connection.prepare<[number], { flush_requested: bigint }>(
      'UPDATE flows SET flush_requested = flush_requested + 1 WHERE flow_id = ? RETURNING flush_requested',
    );
    this.#setOutcome = connection.prepare<[string, number, string, string, number]>(
      `UPDATE flows SET last_run_ms = CASE ? WHEN '' THEN ? ELSE last_run_ms END, last_error = ?,
         needs_rebuild = CASE ? WHEN '' THEN 0 ELSE needs_rebuild END WHERE flow_id = ?`,
    );
    this.#setFlushed = connection.prepare<[bigint, bigint, string, number]>(
      'UPDATE flows SET flush_done = ?, flush_rows = ?, flush_error = ? WHERE flow_id = ?',
    );
    this.#setInputs = connection.prepare<[number, string, number]>(
      'UPDATE flows SET sink_table_id = ?, view_ids = ? WHERE flow_id = ?',
    );
    this.#positions = connection.prepare<[number], { region_id: bigint; sequence: bigint }>(
      'SELECT region_id, sequence FROM flow_positions WHERE flow_id = ? ORDER BY region_id',
    );
    this.#announce = connection.prepare<[number, number]>(
      'INSERT INTO flow_positions VALUES (?, ?, 0) ON CONFLICT DO NOTHING',
    );
    this.#putPosition = connection.prepare<[number, number, bigint]>(
      'INSERT INTO flow_positions VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET sequence = excluded.sequence',
    );
    this.#clearPositions = connection.prepare<[number]>('DELETE FROM flow_positions WHERE flow_id = ?');
    this.#changes = connection.prepare<[number], ChangeRow>(
      'SELECT change_id, region_id, time_first, time_last FROM flow_changes WHERE flow_id = ? ORDER BY change_id',
    );
    this.#addChanges = connection.prepare<[bigint, bigint, number, bigint]>(
      `INSERT INTO flow_changes (flow_id, region_id, time_first, time_last)
       SELECT flow_id, region_id, ?, ? FROM flow_positions JOIN flows USING (flow_id)
       WHERE region_id = ? AND sequence < ? AND is_streaming = 0`,
    );
    this.#crowded = connection.prepare<[number], { flow_id: bigint }>(
      'SELECT flow_id FROM flow_changes GROUP BY flow_id HAVING count(*) > ?',
    );
    this.#joinChanges = connection.prepare<[number], ChangeRow>(
      `SELECT 0 AS change_id, region_id, min(time_first) AS time_first, max(time_last) AS time_last
       FROM flow_changes WHERE flow_id = ? GROUP BY region_id`,
    );
    this.#deleteChange = connection.prepare<[number, bigint]>(
      'DELETE FROM flow_changes WHERE flow_id = ? AND change_id = ?',
    );
    this.#clearChanges = connection.prepare<[number]>('DELETE FROM flow_changes WHERE flow_id = ?');
    this.#insertChange = connection.prepare<[number, bigint, bigint, bigint]>(
      'INSERT INTO flow_changes (flow_id, region_id, time_first, time_last) VALUES (?, ?, ?, ?)',
    );
  }

  find(name: string): Flow | undefined {
    const row = this.#byName.get(name);
    return row === undefined ? undefined : fromRow(row);
  }

  findById(flowId: number): Flow | undefined {
    const row = this.#byId.get(flowId);
    return row === undefined ? undefined : fromRow(row);
  }

  /** Returns all flows by name, without positions. */
  list(): Flow[] {
    return this.#all.all().map(fromRow);
  }

  count(): number {
    return Number(this.#count.get()?.count ?? 0n);
  }

  /** @returns the ID of the flow. */
  insert(spec: FlowSpec, nowMs: number): number {
    const row = this.#insert.get(spec.name, JSON.stringify(spec), Number(spec.isStreaming), nowMs, nowMs);
    return Number(row?.flow_id ?? 0n);
  }

  /** Replaces the definition; the flow starts again. */
  replace(flowId: number, spec: FlowSpec, nowMs: number): void {
    this.#replace.run(JSON.stringify(spec), Number(spec.isStreaming), nowMs, flowId);
    this.#clearPositions.run(flowId);
    this.#clearChanges.run(flowId);
  }

  delete(flowId: number): void {
    this.#delete.run(flowId);
  }

  setOwner(flowId: number, nodeId: number): void {
    this.#setOwner.run(nodeId, flowId);
  }

  /** @returns the ticket. */
  requestFlush(flowId: number): bigint {
    return this.#requestFlush.get(flowId)?.flush_requested ?? 0n;
  }

  positions(flowId: number): FlowPosition[] {
    return this.#positions.all(flowId).map((row) => ({ regionId: Number(row.region_id), sequence: row.sequence }));
  }

  /** Notes that a flow will read a region, so that changes of it are recorded from now on. */
  announce(flowId: number, regionId: number): void {
    this.#announce.run(flowId, regionId);
  }

  setPositions(flowId: number, positions: readonly FlowPosition[]): void {
    this.#clearPositions.run(flowId);
    for (const { regionId, sequence } of positions) this.#putPosition.run(flowId, regionId, sequence);
  }

  /** Records the end of a run. */
  setOutcome({ flowId, runMs, error, isWaiting, flushTicket, flushRows }: CommitFlowRequest): void {
    this.#setOutcome.run(error, runMs, error, error, flowId);
    if (flushTicket > 0n) this.#setFlushed.run(flushTicket, flushRows, isWaiting ? '' : error, flowId);
  }

  setInputs(flowId: number, { sinkTableId, viewIds }: FlowInputs): void {
    this.#setInputs.run(sinkTableId, JSON.stringify(viewIds), flowId);
  }

  changes(flowId: number): FlowChange[] {
    return this.#changes.all(flowId).map((row) => ({
      changeId: row.change_id,
      regionId: Number(row.region_id),
      timeFirst: row.time_first,
      timeLast: row.time_last,
    }));
  }

  /**
   * Records a change of a region's rows for the flows that read it.
   *
   * @param sequenceTo last sequence of the rows: flows that have processed all of them are not concerned.
   */
  addChange(regionId: number, { first, last }: { first: bigint; last: bigint }, sequenceTo = ANY_SEQUENCE): void {
    if (this.#addChanges.run(first, last, regionId, sequenceTo).changes === 0) return;
    for (const { flow_id: id } of this.#crowded.all(CHANGES_MAX)) this.#join(Number(id));
  }

  /** Replaces the changes of a flow by one for each region. They get new IDs, so that a run in progress removes none. */
  #join(flowId: number): void {
    const joined = this.#joinChanges.all(flowId);
    this.#clearChanges.run(flowId);
    for (const { region_id: regionId, time_first: first, time_last: last } of joined) {
      this.#insertChange.run(flowId, regionId, first, last);
    }
  }

  deleteChange(flowId: number, changeId: bigint): void {
    this.#deleteChange.run(flowId, changeId);
  }
}

function fromRow(row: FlowRow): Flow {
  return {
    flowId: Number(row.flow_id),
    spec: JSON.parse(row.spec) as FlowSpec,
    version: Number(row.version),
    nodeId: Number(row.node_id),
    epoch: Number(row.epoch),
    createdMs: Number(row.created_ms),
    updatedMs: Number(row.updated_ms),
    lastRunMs: Number(row.last_run_ms),
    lastError: row.last_error,
    positions: [],
    flushRequested: row.flush_requested,
    flushDone: row.flush_done,
    flushRows: row.flush_rows,
    flushError: row.flush_error,
    needsRebuild: row.needs_rebuild !== 0n,
    inputs: { sinkTableId: Number(row.sink_table_id), viewIds: JSON.parse(row.view_ids) as number[] },
  };
}
