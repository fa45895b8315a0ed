import { checkCall } from '#shared/contracts/call';
import { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { HeadColumn, OutputColumn } from '#shared/formats/format';

import { QueryColumns, type ColumnCounts } from '../../columns/query-columns.js';
import { refusalOf } from '../../kernels/preconditions.js';
import { NotForKernels, NotNowForKernels, type KernelQuery } from '../../kernels/query.js';
import type { ResultInput, ResultPlace } from '../../kernels/result/result-cache.js';
import type { ResultRows } from '../../kernels/result/result.js';
import { TEXT_WORK, TextBlocks, textOfRows, useOf, type TextOutput } from '../../kernels/result/result-text.js';
import type { QueryMemory } from '../../kernels/memory.js';
import { runKernelQuery } from '../../kernels/run.js';
import type { RowTexts } from '../../kernels/row-texts.js';
import type { ReadFigures } from '../../run/processes.js';
import type { BindRequest } from '../../snapshot/binding.js';
import { sourceOf } from '../../snapshot/logical-table.js';
import { UnreadableSegment } from '../../snapshot/segment-files.js';
import type { Snapshot } from '../../snapshot/snapshots.js';
import { bindingOf, type PlanTable } from '../plan/plan-table.js';
import type { PlannedQuery } from '../plan/plan.js';
import type { RunValues } from '../syntax/literals.js';
import type { KernelShape } from '../plan/kernel/kernel-shape.js';
import {
  StatementRun,
  type ResultSlot,
  type SqlKernels,
  type StatementContext,
  type StatementEvent,
  type TextEvent,
} from '../statement.js';

/** Up to this limit of rows, they are encoded at once, and the engine's here instead of by itself, which is as fast. */
export const ROWS_ENCODED_MAX = 1000;

/** A planned query in one run, and the snapshot that it reads. */
export interface KernelInput {
  readonly planned: PlannedQuery;
  readonly run: StatementRun;
  readonly snapshot: Snapshot;
}

/** Returns the query that kernels run, or why the engine must run it. */
export function kernelQuery({ planned, run, snapshot }: KernelInput, context: StatementContext): KernelQuery | string {
  const { kernel } = planned.plan;
  if (context.deps.kernels === undefined) return 'query.kernels is false';
  if ('refusal' in kernel) return kernel.refusal;
  if (kernel.engineRuns > 0) return kernel.engineReason;
  const source = snapshot.sources.at(0);
  if (source === undefined || context.tail !== undefined) return 'the query reads only newer rows';
  try {
    const query = kernel.bind(run, source.bounds, planned.durations);
    return refusalOf(query, source) ?? query;
  } catch (error) {
    if (error instanceof NotForKernels) return error.message;
    throw error;
  }
}

/** A query that kernels can run at once. Its caller releases the snapshot. */
export interface ReadyQuery extends KernelInput {
  readonly query: KernelQuery;
  /** Returns the result columns. */
  readonly columns: () => Promise<readonly OutputColumn[]>;
}

/** A query whose plan is cached, and for kernels. */
type PlannedForKernels = PlannedQuery & { readonly plan: { readonly kernel: KernelShape } };

/**
 * Returns the plan of a query that may be run without waiting for anything; undefined otherwise.
 *
 * @param plan returns its plan, if that is cached
 */
export function readyPlan(
  context: StatementContext,
  plan: () => PlannedQuery | undefined,
): PlannedForKernels | undefined {
  const { deps, call, tail, timeRange } = context;
  // Owners in other processes have to be called.
  if (deps.ingesters.hasNothingNew === undefined) return undefined;
  if (deps.kernels === undefined || tail !== undefined || timeRange !== undefined) return undefined;
  // Traces show how long planning and binding took.
  if (call.span !== undefined) return undefined;
  const planned = plan();
  return planned !== undefined && isForKernels(planned) && planned.plan.kernel.engineRuns === 0 ? planned : undefined;
}

function isForKernels(planned: PlannedQuery): planned is PlannedForKernels {
  return !('refusal' in planned.plan.kernel);
}

/**
 * Binds a query without waiting for anything: its tables are as they were when they were read last. Undefined: it has to be
 * planned and bound as other queries are.
 *
 * @throws as binding does
 */
export function readyQuery(context: StatementContext, planned: PlannedForKernels): ReadyQuery | undefined {
  const { deps, call } = context;
  const { kernel, tables, declaredTypes } = planned.plan;
  const { columns: columnsOf } = kernel;
  if (columnsOf === undefined || declaredTypes.size > 0) return undefined;
  const run = new StatementRun(context, planned.literals);
  const requests = requestsOf(tables, run);
  const snapshot = requests.length === tables.length ? deps.snapshots.takeNow(requests, call) : undefined;
  if (snapshot === undefined) return undefined;
  const input = { planned, run, snapshot };
  try {
    const query = kernelQuery(input, context);
    if (typeof query !== 'string') {
      deps.planner.hits++;
      return { planned, run, snapshot, query, columns: () => Promise.resolve(columnsOf(planned.itemNames)) };
    }
  } catch (error) {
    snapshot.release();
    throw error;
  }
  snapshot.release();
  return undefined;
}

/** Returns what is read of tables; nothing of those that are not stored. */
function requestsOf(tables: readonly PlanTable[], run: RunValues): BindRequest[] {
  const requests: BindRequest[] = [];
  for (const table of tables) {
    const { request } = bindingOf(table, run);
    if (request !== undefined) requests.push(request);
  }
  return requests;
}

/** Number of runs that are left to the engine after kernels failed while they read: the reason may vanish, for example by a merge. */
const ENGINE_RUNS = 16;

/** Reports whether the engine should begin a query before its snapshot is complete, because kernels do not run it. */
export function isForEngine(
  { plan }: PlannedQuery,
  { kernels }: { readonly kernels: SqlKernels | undefined },
): boolean {
  return kernels === undefined || 'refusal' in plan.kernel || plan.kernel.engineRuns > 0;
}

/** Counts a run of the engine. */
export function engineRan({ plan: { kernel } }: PlannedQuery): void {
  if ('engineRuns' in kernel && kernel.engineRuns > 0) kernel.engineRuns--;
}

/** The result of a query. Its caller releases its memory. */
export interface KernelResult {
  readonly counts: ColumnCounts;
  readonly output: TextOutput;
  readonly rows: ResultRows;
  /** Text of the rows that come first; `rows` has the others. Undefined: it has all. */
  readonly texts: RowTexts | undefined;
  readonly release: () => void;
}

/**
 * Runs a query by kernels.
 *
 * @param columns of the result
 * @returns its result, or why the engine must run it.
 */
export async function runKernels(
  input: KernelInput,
  query: KernelQuery,
  columns: () => Promise<readonly OutputColumn[]>,
  context: StatementContext,
): Promise<KernelResult | string> {
  const { kernels } = context.deps;
  const { listed } = context;
  const { kernel } = input.planned.plan;
  invariant(kernels !== undefined, 'there are kernels');
  const memory = kernels.memory.open();
  const earlier = listed?.figures;
  try {
    const output = { format: context.format, columns: await columns() };
    const use = { ...useOf(output), text: context.limit === undefined ? output : undefined };
    const [source] = input.snapshot.sources;
    const { clock, blocks, threads } = kernels;
    const deps = { columns: new QueryColumns(kernels.columns), clock, memory, blocks, threads };
    if (listed !== undefined) listed.figures = () => kernelFigures(deps.columns, memory);
    const { rows, texts } = await runKernelQuery(query, source, use, deps, () => checkCall(context.call));
    const { counts } = deps.columns;
    const release = (): void => {
      texts?.end();
      memory.release();
      kernels.columnsRead(counts);
    };
    return { output, rows, texts, counts, release };
  } catch (error) {
    memory.release();
    if (listed !== undefined) listed.figures = earlier;
    if (!(error instanceof NotForKernels)) throw error;
    // A plan of range queries does not depend on their durations, of which kernels may know others.
    const isOfPlan = !(error instanceof NotNowForKernels) && input.planned.durations === undefined;
    if (isOfPlan) leaveToEngine(kernel, error.message);
    return error.message;
  }
}

/** Lets the engine run the next queries of a plan. */
function leaveToEngine(kernel: PlannedQuery['plan']['kernel'], reason: string): void {
  if (!('engineRuns' in kernel)) return;
  kernel.engineRuns = ENGINE_RUNS;
  kernel.engineReason = reason;
}

/** Returns what kernels have read so far. Their progress is known while other threads read. */
function kernelFigures({ counts, scan }: QueryColumns, { bytes: memoryBytes }: QueryMemory): ReadFigures {
  const { progress, rows = 0 } = scan ?? {};
  return {
    rowsScanned: counts.rows + (progress?.rows ?? 0),
    bytesScanned: Math.round(counts.segmentBytes + (progress?.bytes ?? 0)),
    memoryBytes,
    progress: progress === undefined || rows === 0 ? undefined : Math.min(progress.done / rows, 1),
  };
}

/** Returns the text of the rows of a result. */
async function* encodeRows(
  { rows, output }: KernelResult,
  { limit, call, deps }: StatementContext,
): AsyncIterable<TextEvent> {
  const slices = new Slices(deps.clock, { check: () => checkCall(call) });
  // Sorting the rows may have taken as long as several slices.
  await slices.yield();
  for (const block of new TextBlocks(output).of(rows, Math.min(rows.count, limit ?? Infinity))) {
    yield { kind: 'text', ...block };
    if (slices.isOver(block.rows * output.columns.length * TEXT_WORK)) await slices.yield();
  }
}

/** The result of a query that kernels ran. Its caller releases its memory. */
export interface KernelAnswer {
  readonly events: Iterable<StatementEvent> | AsyncIterable<StatementEvent>;
  readonly release: () => void;
}

/** Runs a query by kernels, unless its result is known. @returns its result, or why the engine must run it. */
export async function kernelAnswer(input: ReadyQuery, context: StatementContext): Promise<KernelAnswer | string> {
  const { kernels } = context.deps;
  const { number: plan } = input.planned.plan;
  const { result: slot } = context;
  const place = slot && kernels?.results.placeOf(slot.key, resultInput(input, slot));
  if (place?.events !== undefined) {
    context.deps.queryRun('cache');
    context.answered?.(plan);
    return { events: place.events, release: () => undefined };
  }
  const result = await runKernels(input, input.query, input.columns, context);
  if (typeof result === 'string') return result;
  context.deps.queryRun('kernels');
  // After a restart, the first queries of clients come before such a large one.
  if (result.texts === undefined) context.answered?.(plan);
  if (result.texts !== undefined || Math.min(result.rows.count, context.limit ?? Infinity) > ROWS_ENCODED_MAX) {
    return { events: largeResult(result, place, context, input.planned.plan.kernel), release: result.release };
  }
  try {
    const event = smallResult(result, context);
    place?.add(event, bytesOf(event));
    place?.keep();
    return { events: [event], release: () => undefined };
  } finally {
    result.release();
  }
}

function resultInput({ planned, query, run, snapshot }: ReadyQuery, { catalogVersion }: ResultSlot): ResultInput {
  const { plan, durations } = planned;
  const { bounds } = query;
  const tables = plan.tables.map(({ table }) => table);
  // Metrics get labels without a change of the catalog, views have tables of their own, and what range queries are
  // rewritten to may depend on the clock.
  const isPlain =
    durations === undefined && plan.views.length === 0 && tables.every((table) => sourceOf(table) === undefined);
  return {
    plan: plan.number,
    catalogVersion,
    tables: isPlain ? tables : undefined,
    values: isPlain ? '' : valuesOf(planned),
    versions: versionsOf(snapshot),
    bounds,
    hasFixedTimes: !run.hasReadTime,
  };
}

function valuesOf({ literals, durations }: PlannedQuery): string {
  let values = JSON.stringify(durations ?? '');
  // With lengths, because texts may contain anything.
  for (const { kind, value } of literals) values += `,${kind} ${value.length} ${value}`;
  return values;
}

function versionsOf({ sources }: Snapshot): number[] {
  const versions: number[] = [];
  for (const { regions } of sources) for (const { view } of regions) versions.push(view.version);
  return versions;
}

function smallResult({ output, rows }: KernelResult, { limit = Infinity }: StatementContext): StatementEvent {
  const count = Math.min(rows.count, limit);
  return { kind: 'result', columns: headOf(output.columns), text: textOfRows(rows, output, 0, count), rows: count };
}

async function* largeResult(
  result: KernelResult,
  place: ResultPlace<StatementEvent> | undefined,
  context: StatementContext,
  kernel: PlannedQuery['plan']['kernel'],
): AsyncIterable<StatementEvent> {
  const schema = schemaOf(result.output.columns);
  place?.add(schema, bytesOf(schema));
  yield schema;
  if (result.texts !== undefined) {
    try {
      for await (const rows of result.texts) yield { kind: 'text', ...rows };
    } catch (error) {
      // The engine runs the query if it is sent again.
      if (error instanceof AlmanacError && error.cause instanceof UnreadableSegment) {
        leaveToEngine(kernel, error.message);
      }
      throw error;
    }
    yield* encodeRows(result, context);
    return;
  }
  for await (const event of encodeRows(result, context)) {
    place?.add(event, bytesOf(event));
    yield event;
  }
  place?.keep();
}

/** Memory of an array of bytes, without these. */
const ARRAY_BYTES = 400;

function bytesOf(event: StatementEvent): number {
  const columnBytes = 'columns' in event ? 100 * event.columns.length : 0;
  if (!('text' in event)) return columnBytes;
  if (typeof event.text === 'string') return columnBytes + 2 * event.text.length;
  // It may be a part of a larger buffer, which is kept with it.
  return columnBytes + ARRAY_BYTES + event.text.buffer.byteLength;
}

/** Returns the event that begins a result. */
export function schemaOf(columns: readonly OutputColumn[]): Extract<StatementEvent, { kind: 'schema' }> {
  return { kind: 'schema', columns: headOf(columns) };
}

function headOf(columns: readonly OutputColumn[]): readonly HeadColumn[] {
  let head = heads.get(columns);
  if (head === undefined) heads.set(columns, (head = columns.map(({ name, type }) => ({ name, type: type.name }))));
  return head;
}

/** The same for all queries of one template, so that formats need to write it only once. */
const heads = new WeakMap<readonly OutputColumn[], readonly HeadColumn[]>();
