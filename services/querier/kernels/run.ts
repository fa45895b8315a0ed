import type { Clock } from '#shared/clock/clock';
import type { Column } from '#shared/contracts/gen/common';
import type { TimeBounds } from '#shared/segments/bands';

import type { ColumnCounts, ColumnSources } from '../columns/query-columns.js';
import type { TableSource } from '../snapshot/snapshots.js';
import { GroupAggregation } from './aggregation.js';
import { mayFail } from './arithmetic.js';
import { NewestTimes } from './newest-times.js';
import { fieldsAmong, TooManyRows, TooManyValues, type AggregateQuery, type KernelQuery } from './query.js';
import type { MergedBlocks } from './late/merged-blocks.js';
import type { KernelMemory } from './memory.js';
import type { KernelDeps } from './deps.js';
import { edgeRanges } from './edge-ranges.js';
import { planRead, readSource, type ReadPlan } from './read-source.js';
import { resultOf, type ResultRows, type ResultUse } from './result/result.js';
import type { TextOutput } from './result/result-text.js';
import { COLLECTED_CELLS_MAX, FAST_COLLECTED_CELLS_MAX, RowCollector, type TagsOf } from './row-collector.js';
import { rowsOfThreads, type RowRead, type RowTexts } from './row-texts.js';
import type { Scans } from './scan.js';
import { columnsOf } from './series-groups.js';
import { slotGroups, SlotRanges, type BucketGroups } from './slots.js';
import { startOf } from './time-grid.js';

/** What ran a query; `cache`: its result was known. */
export type QueryPath = 'kernels' | 'engine' | 'cache';

/** The kernels of a querier. */
export interface Kernels {
  readonly columns: ColumnSources;
  readonly clock: Clock;
  readonly memory: KernelMemory;
  readonly blocks: MergedBlocks;
  readonly threads: Scans;
  /** Counts what kernels read for a query. */
  columnsRead(counts: ColumnCounts): void;
}

/** What a result is made of. */
export interface RunUse extends ResultUse {
  /** The only use of the rows, of all of them; undefined: there may be others. */
  readonly text: TextOutput | undefined;
}

/** The result of a query. */
export interface RunResult {
  readonly rows: ResultRows;
  /** Text of the rows that come first; `rows` has the others. Only if `text` is given. */
  readonly texts?: RowTexts;
}

/**
 * Runs a query over a table.
 *
 * @param check is called between slices of the work; an error that it throws ends it.
 * @throws `NotForKernels` if the engine must run it.
 */
export async function runKernelQuery(
  query: KernelQuery,
  source: TableSource,
  use: RunUse,
  deps: KernelDeps,
  check: () => void,
): Promise<RunResult> {
  const plan = await planRead(query, source, deps, check);
  if (query.kind === 'rows') return rowsOf({ query, source, plan }, use, deps, check);
  const ranges = query.slots && new SlotRanges(query.slots, plan);
  const buckets = await aggregate({ query, source, plan }, deps, check);
  const options = { clock: deps.clock, memory: deps.memory, check };
  const groups = ranges === undefined ? buckets : await slotGroups(query, ranges, buckets, options);
  return { rows: await resultOf(query, groups, use, options) };
}

/** A query of groups, or a part of it. */
interface GroupRead {
  readonly query: AggregateQuery;
  readonly source: TableSource;
  readonly plan: ReadPlan;
}

/** Buckets are read for as many rows as the result has, and then for this many times as many, until they have enough rows. */
const MORE_BUCKETS = 4;

/** Aggregates the rows of a query; only of the newest buckets if the result has only these. */
async function aggregate(
  { query, source, plan }: GroupRead,
  deps: KernelDeps,
  check: () => void,
): Promise<BucketGroups> {
  const { grid, labels } = plan;
  const needed = newestNeeded(query);
  for (let count = Math.max(needed, 1); count < grid.count; count *= MORE_BUCKETS) {
    const newest = { ...grid, first: grid.first + BigInt(grid.count - count), count };
    const { from, to } = query.bounds;
    const start = startOf(newest, 0);
    const bounds = { from: from === undefined || start > from ? start : from, to };
    const part = { query: { ...query, bounds }, source, plan: { ...plan, grid: newest } };
    const aggregation = await aggregateAll(part, deps, check);
    if (aggregation.filledCells().length >= needed) return { labels, grid: newest, aggregation };
  }
  return { labels, grid, aggregation: await aggregateAll({ query, source, plan }, deps, check) };
}

/** Returns the number of groups of the newest buckets that the result needs; infinite if it needs others. */
function newestNeeded({ keys, slots, expressions, having, order, offset, limit }: AggregateQuery): number {
  const first = order.at(0);
  const key = first === undefined ? undefined : keys.at(first.position);
  // An expression that fails for any group fails for the query.
  const needsAll = slots !== undefined || having.length > 0 || expressions.some(mayFail);
  const isNewest = key?.kind === 'bucket' && first?.isDescending === true && !needsAll;
  return isNewest ? offset + limit : Infinity;
}

/** Reports whether only the newest row of each label matters. */
function isOfNewest({ keys, aggregates }: AggregateQuery): boolean {
  const hasBuckets = keys.some(({ kind }) => kind === 'bucket');
  const areNewest = aggregates.every(
    ({ name, field }) => name === 'last' || (name === 'max' && field?.kind === 'time'),
  );
  return !hasBuckets && aggregates.length > 0 && areNewest;
}

async function aggregateAll(
  { query, source, plan }: GroupRead,
  deps: KernelDeps,
  check: () => void,
): Promise<GroupAggregation> {
  const aggregation = new GroupAggregation(query, plan.labels.length * plan.grid.count, deps.memory);
  let bounds: TimeBounds | undefined = query.bounds;
  const needsLast = isOfNewest(query);
  if (needsLast) {
    const newest = new NewestTimes(plan.labels.length);
    const times = { ...query, fields: testedFieldsOf(query), aggregates: [] };
    await readSource({ query: times, source, plan, needsLast }, newest, deps, check);
    bounds = newest.narrowed(bounds);
  }
  if (bounds === undefined) return aggregation;
  await readSource({ query: { ...query, bounds }, source, plan, needsLast }, aggregation, deps, check);
  return aggregation;
}

/** Returns the fields that decide which rows a query selects. */
function testedFieldsOf({ fieldConditions }: KernelQuery): readonly Column[] {
  return fieldsAmong(fieldConditions.map(({ field }) => field));
}

/** Runs a query of rows: here, or in other threads if its rows are too many. */
async function rowsOf(read: RowRead, use: RunUse, deps: KernelDeps, check: () => void): Promise<RunResult> {
  const tagsOf: TagsOf = async (tag) =>
    (await Promise.all(read.source.regions.map((it) => columnsOf(it, [tag])))).flat();
  try {
    const rows = await selectRows({ ...read, isFast: use.takesArrays }, deps, check);
    return { rows: await rows.result(tagsOf, use) };
  } catch (error) {
    const isTooMuch = error instanceof TooManyValues || error instanceof TooManyRows;
    if (!isTooMuch || use.text === undefined) throw error;
    deps.memory.release();
    const written = await rowsOfThreads(read, use.text, tagsOf, deps, check);
    if (written === undefined) throw error;
    return written;
  }
}

/** A query of rows, or a part of it. */
interface CollectedRead extends RowRead {
  /** Whether a large result is faster here than in the engine. */
  readonly isFast: boolean;
}

/** Collects the rows of a query; only those at one end of the time range if the result has only these. */
async function selectRows(read: CollectedRead, deps: KernelDeps, check: () => void): Promise<RowCollector> {
  const { query, source, plan } = read;
  if (query.newest === undefined) {
    for (const bounds of edgeRanges(query, source, plan.regions)) {
      const rows = await collectRows({ ...read, query: { ...query, bounds } }, deps, check);
      if (rows.count >= query.offset + query.limit) return rows;
    }
  }
  return collectRows(read, deps, check);
}

async function collectRows(
  { query, source, plan, isFast }: CollectedRead,
  deps: KernelDeps,
  check: () => void,
): Promise<RowCollector> {
  const newest = query.newest === undefined ? undefined : new NewestTimes(plan.labels.length);
  const takesMany = isFast || source.regions.some(({ lateBands }) => lateBands.length > 0);
  const cellsMax = query.order.length === 0 && takesMany ? FAST_COLLECTED_CELLS_MAX : COLLECTED_CELLS_MAX;
  const rows = new RowCollector(query, deps.memory, newest, cellsMax);
  if (newest === undefined) {
    await readSource({ query, source, plan }, rows, deps, check);
    return rows;
  }
  // The runs have the times, so that fields are read of few row groups.
  const times = { ...query, fields: testedFieldsOf(query), columns: [] };
  await readSource({ query: times, source, plan, needsLast: true }, newest, deps, check);
  for (const [label, values] of plan.labels.entries()) {
    if (query.newest?.excludesNulls === true && values.includes(null)) newest.remove(label);
  }
  const bounds = newest.narrowed(query.bounds);
  if (bounds === undefined) return rows;
  await readSource({ query: { ...query, bounds }, source, plan, needsLast: true }, rows, deps, check);
  return rows;
}
