import type { TableSource } from '../snapshot/snapshots.js';
import { GroupAggregation } from './aggregation.js';
import { NewestTimes } from './newest-times.js';
import type { KernelQuery, RowQuery } from './query.js';
import { planRead, readSource, type KernelDeps, type ReadPlan } from './read-source.js';
import { resultOf, type ResultRows } from './result.js';
import { RowCollector } from './row-collector.js';

/** The kernels of a querier. */
export interface Kernels extends KernelDeps {
  /** Counts a query by what ran it. */
  queryRun(path: 'kernels' | 'engine'): void;
}

/**
 * Runs a query over a table.
 *
 * @param isWide returns whether a column of the result has cells of 64-bit integers.
 * @param check is called between slices of the work; an error that it throws ends it.
 * @throws `NotForKernels` if the engine must run it.
 */
export async function runKernelQuery(
  query: KernelQuery,
  source: TableSource,
  isWide: (output: number) => boolean,
  deps: KernelDeps,
  check: () => void,
): Promise<ResultRows> {
  const plan = await planRead(query, source, deps, check);
  if (query.kind === 'rows') {
    const rows = await selectRows({ query, source, plan }, deps, check);
    return rows.result(source, isWide);
  }
  const aggregation = new GroupAggregation(query, plan.labels.length * plan.grid.count, deps.groupBytes);
  await readSource({ query, source, plan }, aggregation, deps, check);
  return resultOf(query, { labels: plan.labels, grid: plan.grid, aggregation }, isWide);
}

async function selectRows(
  { query, source, plan }: { readonly query: RowQuery; readonly source: TableSource; readonly plan: ReadPlan },
  deps: KernelDeps,
  check: () => void,
): Promise<RowCollector> {
  const newest = query.newest === undefined ? undefined : new NewestTimes(plan.labels.length);
  const rows = new RowCollector(query, deps.groupBytes, newest);
  if (newest === undefined) {
    await readSource({ query, source, plan }, rows, deps, check);
    return rows;
  }
  // The runs have the times, so that fields are read of few row groups.
  await readSource({ query: { ...query, columns: [] }, source, plan }, newest, deps, check);
  for (const [label, values] of plan.labels.entries()) {
    if (query.newest?.excludesNulls === true && values.includes(null)) newest.remove(label);
  }
  const from = newest.least();
  if (from === undefined) return rows;
  const { bounds } = query;
  const later = { from: bounds.from === undefined || from > bounds.from ? from : bounds.from, to: bounds.to };
  await readSource({ query: { ...query, bounds: later }, source, plan }, rows, deps, check);
  return rows;
}
