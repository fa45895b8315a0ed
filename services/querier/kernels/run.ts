import type { TableSource } from '../snapshot/binding.js';
import { Aggregation } from './aggregation.js';
import type { KernelQuery } from './query.js';
import { planRead, readSource, type KernelDeps } from './read-source.js';
import { resultOf, type ResultRows } from './result.js';
import { RowCollector } from './row-collector.js';

/**
 * Runs a query over a table.
 *
 * @param isWide returns whether a column of the result has cells of 64-bit integers.
 * @param check is called between slices of the work; an error that it throws ends it.
 * @throws `NotForKernels`, `UnknownLayout` if the engine must run it.
 */
export async function runQuery(
  query: KernelQuery,
  source: TableSource,
  isWide: (output: number) => boolean,
  deps: KernelDeps,
  check: () => void,
): Promise<ResultRows> {
  const plan = await planRead(query, source, deps, check);
  const read = { query, source, plan };
  if (query.kind === 'rows') {
    const rows = new RowCollector(query, deps.groupBytes);
    await readSource(read, rows, deps, check);
    return rows.result(source, isWide);
  }
  const aggregation = new Aggregation(query, plan.labels.length * plan.grid.count, deps.groupBytes);
  await readSource(read, aggregation, deps, check);
  return resultOf(query, { labels: plan.labels, grid: plan.grid, aggregation }, isWide);
}
