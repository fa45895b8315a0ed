import type { Table } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import type { Flow, FlowInputs, FlowSpec, View } from '#shared/contracts/gen/metadata';
import type { EngineColumn } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, UNIT_NS, type TimeUnit } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import { expiryNs } from '#shared/schema/ttl';
import type { TimeBounds } from '#shared/segments/bands';

import { areSameTables, sourceOf } from '../snapshot/logical-table.js';
import { createSink } from '../sql/flow/create-sink.js';
import { flowInputs, planFlow, type FlowPlan } from '../sql/flow/plan.js';
import { sinkLayout } from '../sql/flow/sink.js';
import { hullOf, type SourceRange } from '../sql/plan/plan-table.js';
import { atAllOwners } from '../sql/run/owners.js';
import { queryBlocks, rowsOf } from '../sql/run/run-query.js';
import type { StatementContext, TailReading } from '../sql/statement.js';
import { ceilDivide, floorDivide } from '../sql/syntax/literals.js';
import { changedWindows, isReached, type Positions } from './changed-windows.js';
import { groupRuns, joinRuns, WindowGrid, type WindowRun } from './window-grid.js';
import { insertRows, writeResults, type SinkTarget } from './write-results.js';

/** Ranges of windows that one run evaluates; more are joined. */
const RANGES_MAX = 64;
/** Ranges nearer to each other are evaluated as one. */
const RANGE_GAP_NS = 60_000_000_000n;
/** Ranges nearer to each other are evaluated by one query, which also reads the times between them. */
const QUERY_GAP_NS = 600_000_000_000n;
/** How many times as long as its ranges together the times may be that one query reads: a source can have many rows. */
const QUERY_READ_MAX = 4n;
/**
 * Rows of the segments and parts from the first range to the last up to which one query reads all ranges: that takes as long as
 * planning another query.
 */
const QUERY_ROWS_MAX = 100_000;
const NS_PER_MS = 1_000_000n;

/** What a flow has processed, and what is known about it. */
export interface FlowProgress {
  positions: Positions;
  /** Regions whose changes metadata records for the flow. */
  readonly announced: Set<number>;
  /** Plan of the last run, which holds while its tables are the same. */
  plan: FlowPlan | undefined;
  /** Whether all results must be computed and checked again. */
  needsRebuild: boolean;
  /** What the committed results depend on. */
  inputs: FlowInputs;
  /** ID of the sink whose ingesters know of this owner. */
  fencedSink: number | undefined;
}

/** One run of a flow. */
export interface FlowRun {
  readonly flow: Flow;
  readonly spec: FlowSpec;
  readonly progress: FlowProgress;
  readonly context: StatementContext;
  readonly writeCall: SinkTarget['writeCall'];
}

/** Outcome of a run. */
export interface FlowOutcome {
  /** Rows written to the sink and deleted from it. */
  readonly rows: number;
  /** Positions to commit; undefined: they stay. */
  readonly positions: Positions | undefined;
  readonly changeIds: readonly bigint[];
  /** What the results depend on now; undefined: as before. */
  readonly inputs?: FlowInputs;
  /** Why the run could do nothing; undefined: it could. */
  readonly waitsFor?: string;
}

const NOTHING: FlowOutcome = { rows: 0, positions: undefined, changeIds: [] };
/** Inputs that are not known. */
export const NO_INPUTS: FlowInputs = { sinkTableId: 0, viewIds: [] };
const NO_SOURCE = 'a source of the flow does not exist';
const OTHER_SOURCE = 'a source of the flow was dropped, and another table has its name: create the flow again';

/** A run whose tables are known. */
interface PreparedRun extends FlowRun {
  readonly plan: FlowPlan;
  readonly sink: Table;
  /** Whether rows that the result lacks may be deleted: no other flow writes to the sink. */
  readonly ownsSink: boolean;
  readonly inputs: FlowInputs;
  /** Whether no earlier run can have written results. */
  readonly isFirst: boolean;
}

/** Runs a flow: finds what has changed and stores new results. Does nothing while a source is missing. */
export async function runFlow(run: FlowRun): Promise<FlowOutcome> {
  const prepared = await prepare(run);
  if (typeof prepared === 'string') return { ...NOTHING, waitsFor: prepared };
  return { ...(await evaluate(prepared)), inputs: prepared.inputs };
}

async function evaluate(run: PreparedRun): Promise<FlowOutcome> {
  if (run.spec.isStreaming) return addNewRows(run);
  if (run.plan.isVolatile) return evaluateNow(run);
  await announce(run);
  const { hasWindowTime } = targetOf(run, undefined).layout;
  return hasWindowTime ? evaluateWindows(run) : evaluateAll(run);
}

/** Whether results depend on the same sink and views. */
export function areSameInputs(one: FlowInputs, other: FlowInputs): boolean {
  return one.sinkTableId === other.sinkTableId && areSameViews(one, other);
}

function areSameViews(one: FlowInputs, other: FlowInputs): boolean {
  return one.viewIds.join() === other.viewIds.join();
}

/** @returns what the flow waits for if its sources cannot be read. */
async function prepare(run: FlowRun): Promise<PreparedRun | string> {
  const { flow, spec, progress, context } = run;
  const { deps, call } = context;
  const plan = await currentPlan(run);
  progress.plan = plan;
  if (plan === undefined || plan.sources.length === 0) return NO_SOURCE;
  if (isOtherTable(spec, plan)) return OTHER_SOURCE;
  const find = (): Promise<Table | undefined> => deps.names.find(spec.sinkDatabase, spec.sinkTable, call, 'write');
  let sink = await find();
  if (sink === undefined) {
    await expectCurrent(run);
    await createSink(spec.sinkDatabase, spec.sinkTable, plan, context);
    sink = await find();
  }
  if (sink === undefined) throw new AlmanacError('table_not_found', `sink "${spec.sinkTable}" was dropped`);
  await fence(run, sink);
  const inputs = flowInputs(plan, sink);
  noteInputs(inputs, progress);
  const { flows } = await deps.metadata.listFlows({}, call);
  const writers = flows.filter(({ spec: other }) => {
    return other?.sinkDatabase === spec.sinkDatabase && other.sinkTable === spec.sinkTable;
  });
  // Regions are announced before anything is written, and before their positions are committed.
  const isFirst = flow.version === 1 && progress.announced.size === 0;
  return { ...run, plan, sink, ownsSink: writers.length <= 1, inputs, isFirst };
}

/** Starts again if the sink or a view is not the one of the committed results. */
function noteInputs(inputs: FlowInputs, progress: FlowProgress): void {
  const { sinkTableId } = progress.inputs;
  // What was processed before is not in another sink, also if a user created that one.
  const isOtherSink = sinkTableId !== 0 && sinkTableId !== inputs.sinkTableId;
  if (isOtherSink) progress.positions = new Map();
  const isKnown = progress.positions.size > 0 || sinkTableId !== 0;
  if (isOtherSink || (isKnown && !areSameViews(inputs, progress.inputs))) progress.needsRebuild = true;
}

/** Makes the owners of the sink refuse results that an earlier owner of the flow has sent and that are still under way. */
async function fence({ flow, progress, context }: FlowRun, sink: Table): Promise<void> {
  if (progress.fencedSink === sink.tableId) return;
  const { deps, call, slot } = context;
  const owner = { flowId: flow.flowId, epoch: flow.epoch };
  const work = (ingester: IngesterService): Promise<unknown> => ingester.fenceFlow(owner, call);
  // An ingester replies when its disk has stored what it had accepted.
  await slot.releaseWhile(() => atAllOwners(deps, storedTable(sink), call, work));
  progress.fencedSink = sink.tableId;
}

/** Sees that the flow was not dropped together with its sink. @throws `illegal_state`, `flow_not_found`. */
async function expectCurrent({ flow, context }: FlowRun): Promise<void> {
  const { version, epoch } = await context.deps.metadata.getFlow({ flowId: flow.flowId }, context.call);
  if (version === flow.version && epoch === flow.epoch) return;
  throw new AlmanacError('illegal_state', 'the flow has another owner or definition');
}

/** Whether a source was dropped and another table has its name now. */
function isOtherTable({ sources }: FlowSpec, plan: FlowPlan): boolean {
  return plan.sources.some(({ database, name, tableId }) => {
    return sources.some((it) => it.database === database && it.name === name && it.tableId !== tableId);
  });
}

/** Returns the plan; undefined while a source is missing. */
async function currentPlan({ spec, progress, context }: FlowRun): Promise<FlowPlan | undefined> {
  const { deps, call } = context;
  try {
    if (progress.plan !== undefined && !progress.plan.isTql) {
      const found = await Promise.all(
        progress.plan.sources.map(({ database, name }) => deps.names.find(database, name, call)),
      );
      const { sources } = progress.plan;
      const now = found.flatMap((table, i) => (table !== undefined && areSameTables(table, sources[i]) ? [table] : []));
      if (now.length === sources.length && (await areCurrent(progress.plan.views, context))) {
        return { ...progress.plan, sources: now };
      }
    }
    const plan = await planFlow(spec.query, spec.evalIntervalMs > 0, context);
    return { ...plan, isStreaming: spec.isStreaming };
  } catch (error) {
    const { code } = AlmanacError.from(error);
    if (code === 'table_not_found' || code === 'database_not_found') return undefined;
    throw error;
  }
}

/** Whether no view was dropped or replaced. */
async function areCurrent(views: readonly View[], { deps, call }: StatementContext): Promise<boolean> {
  const found = await Promise.all(views.map(({ database, name }) => deps.names.findSource(database, name, call)));
  return found.every((view, i) => view !== undefined && 'viewId' in view && view.viewId === views[i].viewId);
}

/** Makes metadata record changes of regions before the first snapshot of them is taken. */
async function announce({ flow, plan, progress, context }: PreparedRun): Promise<void> {
  const regionIds = plan.sources.flatMap((table) => storedTable(table).regions.map(({ regionId }) => regionId));
  const added = regionIds.filter((regionId) => !progress.announced.has(regionId));
  if (added.length === 0) return;
  const { flowId, version, epoch } = flow;
  const positions = added.map((regionId) => ({ regionId, sequence: 0n }));
  const rest = { changeIds: [], runMs: 0, error: '', isWaiting: false, flushTicket: 0n, flushRows: 0n };
  await context.deps.metadata.commitFlow({ flowId, version, epoch, positions, ...rest }, context.call);
  for (const regionId of added) progress.announced.add(regionId);
}

function storedTable(table: Table): Table {
  return sourceOf(table)?.physical ?? table;
}

function targetOf({ sink, plan, context, writeCall }: PreparedRun, replaced: SinkTarget['replaced']): SinkTarget {
  return { table: sink, layout: sinkLayout(sink, plan, context.nowNs), replaced, writeCall };
}

/** Adds a row for each new source row that the query selects. */
async function addNewRows(run: PreparedRun): Promise<FlowOutcome> {
  const { plan, progress, spec, context } = run;
  const tail: TailReading = { after: progress.positions, snapshot: undefined };
  const timeRange = rangeFrom(plan.sources[0], expiredBefore(spec, context));
  let types: readonly EngineColumn[] = [];
  const reading = { ...context, tail, timeRange };
  const blocks = queryBlocks(reading, plan.query, (columns) => (types = columns));
  const first = await blocks.next();
  async function* rows(): AsyncIterable<ReturnType<typeof rowsOf>> {
    if (first.done !== true) yield rowsOf(first.value, types.length);
    for await (const block of blocks) yield rowsOf(block, types.length);
  }
  const written = first.done === true ? 0 : await insertRows(targetOf(run, undefined), types, rows(), context);
  const sequences = (tail as { snapshot: TailReading['snapshot'] }).snapshot?.sequences ?? new Map<number, bigint>();
  return { rows: written, positions: isReached(sequences, progress.positions) ? undefined : sequences, changeIds: [] };
}

/** Evaluates a query whose result depends on when it runs. */
async function evaluateNow(run: PreparedRun): Promise<FlowOutcome> {
  return { ...NOTHING, rows: await writeResults(run.plan.query, targetOf(run, undefined), run.context) };
}

/** Evaluates the whole query if a source has changed. */
async function evaluateAll(run: PreparedRun): Promise<FlowOutcome> {
  const { flow, plan, progress, spec, context, ownsSink, isFirst } = run;
  const { deps, call, slot } = context;
  const none = { timeFrom: undefined, timeTo: undefined, tagValues: new Map<string, readonly string[]>(), texts: [] };
  const requests = plan.sources.map(storedTable).map((table) => {
    return { ...none, table, columns: new Set([timeIndexOf(table).name]) };
  });
  const snapshot = await deps.snapshots.take(requests, call, { slot });
  const { sequences } = snapshot;
  snapshot.release();
  const { changes } = await deps.metadata.listFlowChanges({ flowId: flow.flowId }, call);
  if (changes.length === 0 && !progress.needsRebuild && isReached(sequences, progress.positions)) return NOTHING;
  const expired = expiredBefore(spec, context);
  // Rows that a table had before its flow are only overwritten, and so are those that the query no longer sees.
  const replaces = ownsSink && expired === undefined && (!isFirst || progress.needsRebuild);
  const replaced = replaces ? [{ from: undefined, to: undefined }] : undefined;
  const timeRange = rangeFrom(plan.sources[0], expired);
  const rows = await writeResults(plan.query, targetOf(run, replaced), { ...context, timeRange });
  return { rows, positions: sequences, changeIds: changes.map(({ changeId }) => changeId) };
}

/** Evaluates the query over the windows in which rows have changed. */
async function evaluateWindows(run: PreparedRun): Promise<FlowOutcome> {
  const { flow, plan, progress, context } = run;
  const { window } = plan.shape;
  const [source] = plan.sources;
  if (window === undefined) return NOTHING;
  const unit = unitOf(source);
  const grid = new WindowGrid(window, unit);
  const first = firstWindow(run, grid, unit);
  const timeFrom = first === undefined ? undefined : grid.startOf(first);
  const found = await changedWindows({ table: source, after: progress.positions, timeFrom }, grid, context);
  const { changes } = await context.deps.metadata.listFlowChanges({ flowId: flow.flowId }, context.call);
  const recorded = changes.map(({ timeFirst, timeLast }) => {
    return { first: grid.numberOf(timeFirst), last: grid.numberOf(timeLast) };
  });
  const stored = progress.needsRebuild ? await storedWindows(run) : [];
  const runs = [...found.runs, ...recorded, ...stored].flatMap((it) => within(it, first));
  const ranges = joinRuns(runs, RANGES_MAX, grid.countWithin(RANGE_GAP_NS));
  const rows = await evaluateInGroups(run, grid, ranges);
  const isMoved = !isReached(found.sequences, progress.positions) || changes.length > 0 || progress.needsRebuild;
  return {
    rows,
    positions: isMoved ? found.sequences : undefined,
    changeIds: changes.map(({ changeId }) => changeId),
  };
}

/** Evaluates ranges of windows with as few queries as are quick. @returns how many rows were stored */
async function evaluateInGroups(run: PreparedRun, grid: WindowGrid, ranges: readonly WindowRun[]): Promise<number> {
  const groups = groupRuns(ranges, grid.countWithin(QUERY_GAP_NS), QUERY_READ_MAX);
  if (groups.length > 1 && (await areReadAtOnce(run, grid, ranges))) {
    try {
      return await evaluateRanges(run, grid, ranges);
    } catch (error) {
      // A damaged file between the ranges must not stop the flow, which does not need it.
      if (!(error instanceof AlmanacError && error.code === 'storage_unavailable')) throw error;
    }
  }
  let rows = 0;
  for (const group of groups) rows += await evaluateRanges(run, grid, group);
  return rows;
}

/** Reports whether there are so few rows from the first range to the last that one query may read them all. */
async function areReadAtOnce(
  { plan, sink, ownsSink, context }: PreparedRun,
  grid: WindowGrid,
  ranges: readonly WindowRun[],
): Promise<boolean> {
  const { deps, call, slot } = context;
  const [source] = plan.sources;
  const times = timesOf(ranges, grid, source, sink);
  const table = storedTable(source);
  const rows = await deps.snapshots.overlappingRows(table, hullOf(times.source), { call, slot });
  if (!ownsSink || rows > QUERY_ROWS_MAX) return rows <= QUERY_ROWS_MAX;
  return rows + (await deps.snapshots.overlappingRows(sink, hullOf(times.sink), { call, slot })) <= QUERY_ROWS_MAX;
}

/** Returns the times of ranges of windows, in the units of source and sink. */
function timesOf(ranges: readonly WindowRun[], grid: WindowGrid, source: Table, sink: Table) {
  const unitNs = UNIT_NS[unitOf(source)];
  const sinkNs = UNIT_NS[unitOf(sink)];
  const inSink = (time: bigint): bigint => ceilDivide(time * unitNs, sinkNs);
  const times = ranges.map(({ first, last }) => ({ from: grid.startOf(first), to: grid.startOf(last + 1n) }));
  return { source: times, sink: times.map(({ from, to }) => ({ from: inSink(from), to: inSink(to) })) };
}

/** Evaluates the query over some ranges of windows, and nothing between them. */
async function evaluateRanges(run: PreparedRun, grid: WindowGrid, ranges: readonly WindowRun[]): Promise<number> {
  const { plan, sink, ownsSink, context } = run;
  const [source] = plan.sources;
  const times = timesOf(ranges, grid, source, sink);
  const target = targetOf(run, ownsSink ? times.sink : undefined);
  return writeResults(plan.query, target, { ...context, timeRange: rangeOf(source, times.source) });
}

/** Returns the windows of which the sink has rows, which may be results of source rows that are gone. */
async function storedWindows(run: PreparedRun): Promise<readonly WindowRun[]> {
  const { plan, sink, ownsSink, context } = run;
  const { window } = plan.shape;
  if (window === undefined || !ownsSink) return [];
  const grid = new WindowGrid(window, unitOf(sink));
  return (await changedWindows({ table: sink, after: undefined, timeFrom: undefined }, grid, context)).runs;
}

/** Returns the first window that is still computed: not ended before EXPIRE AFTER, and with all rows within the source's ttl. */
function firstWindow({ plan, spec, context }: PreparedRun, grid: WindowGrid, unit: TimeUnit): bigint | undefined {
  const [source] = plan.sources;
  const expired = expiredBefore(spec, context);
  const open = expired === undefined ? undefined : grid.numberOf(floorDivide(expired, UNIT_NS[unit]));
  const expiry = expiryNs(source, context.nowNs);
  if (expiry === undefined) return open;
  const kept = ceilDivide(expiry, UNIT_NS[unit]);
  const number = grid.numberOf(kept);
  const whole = grid.startOf(number) < kept ? number + 1n : number;
  return open === undefined || whole > open ? whole : open;
}

function within(run: WindowRun, first: bigint | undefined): WindowRun[] {
  if (first === undefined || run.first >= first) return [run];
  return run.last < first ? [] : [{ ...run, first }];
}

/** Returns the time before which rows are ignored, in nanoseconds. */
function expiredBefore({ expireAfterMs }: FlowSpec, { nowNs }: StatementContext): bigint | undefined {
  return expireAfterMs === 0 ? undefined : nowNs - BigInt(expireAfterMs) * NS_PER_MS;
}

function rangeFrom(source: Table, from: bigint | undefined): SourceRange | undefined {
  return from === undefined ? undefined : rangeOf(source, [{ from, to: undefined }]);
}

function rangeOf(source: Table, times: readonly TimeBounds[]): SourceRange {
  return { database: source.database, table: source.name, times };
}

function unitOf(table: Table): TimeUnit {
  return dataType(timeIndexOf(table).type).timeUnit ?? 'ms';
}
