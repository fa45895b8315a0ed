import { checkCall } from '#shared/contracts/call';
import { Slices } from '#shared/clock/slices';
import type { OutputColumn } from '#shared/formats/format';

import { refusalOf } from '../../kernels/preconditions.js';
import { NotForKernels, type KernelQuery } from '../../kernels/query.js';
import type { ResultRows } from '../../kernels/result.js';
import { runKernelQuery, type Kernels } from '../../kernels/run.js';
import type { Snapshot } from '../../snapshot/snapshots.js';
import type { PlannedQuery } from '../plan/plan.js';
import type { RunValues } from '../syntax/literals.js';
import type { StatementContext, TextEvent } from '../statement.js';

/** A planned query in one run, and the snapshot that it reads. */
export interface KernelInput {
  readonly planned: PlannedQuery;
  readonly run: RunValues;
  readonly snapshot: Snapshot;
}

/** Returns the query that kernels run, or why the engine must run it. */
export function kernelQuery({ planned, run, snapshot }: KernelInput, context: StatementContext): KernelQuery | string {
  const { kernel } = planned.plan;
  if (context.deps.kernels === undefined) return 'query.kernels is false';
  if ('refusal' in kernel) return kernel.refusal;
  const source = snapshot.sources.at(0);
  if (source === undefined || context.tail !== undefined) return 'the query reads only newer rows';
  try {
    const query = kernel.bind(run, source.bounds);
    return refusalOf(query, source) ?? query;
  } catch (error) {
    if (error instanceof NotForKernels) return error.message;
    throw error;
  }
}

/** Reports whether the engine should begin a query before its snapshot is complete, because kernels will probably not run it. */
export function isForEngine({ plan }: PlannedQuery, { kernels }: { readonly kernels: Kernels | undefined }): boolean {
  return kernels === undefined || 'refusal' in plan.kernel || plan.kernel.wasRefused;
}

/**
 * Runs a query by kernels.
 *
 * @param columns of the result
 * @returns undefined if the engine must run it.
 */
export async function runKernels(
  input: KernelInput,
  columns: () => Promise<readonly OutputColumn[]>,
  context: StatementContext,
): Promise<{ readonly columns: readonly OutputColumn[]; readonly rows: ResultRows } | undefined> {
  const { kernels } = context.deps;
  const { kernel } = input.planned.plan;
  if (kernels === undefined || 'refusal' in kernel) return undefined;
  const query = kernelQuery(input, context);
  kernel.wasRefused = typeof query === 'string';
  if (typeof query === 'string') return undefined;
  try {
    const types = await columns();
    const isWide = (output: number): boolean => WIDE.test(types.at(output)?.type.name ?? '');
    const [source] = input.snapshot.sources;
    return {
      columns: types,
      rows: await runKernelQuery(query, source, isWide, kernels, () => checkCall(context.call)),
    };
  } catch (error) {
    if (!(error instanceof NotForKernels)) throw error;
    kernel.wasRefused = true;
    return undefined;
  }
}

/** Types whose cells are 64-bit integers. */
const WIDE = /^(?:U?Int64|Timestamp.*)$/;
/** Rows whose text is made at once. */
const BLOCK_ROWS = 1024;

/** Returns the text of the rows of a result. */
export async function* encodeRows(
  columns: readonly OutputColumn[],
  rows: ResultRows,
  { format, limit, call, deps }: StatementContext,
): AsyncIterable<TextEvent> {
  const slices = new Slices(deps.clock, { check: () => checkCall(call) });
  const count = Math.min(rows.count, limit ?? Infinity);
  for (let from = 0; from < count; from += BLOCK_ROWS) {
    const to = Math.min(from + BLOCK_ROWS, count);
    const cells = columns.map((_, i) => rows.cells(i, from, to));
    yield { kind: 'text', text: format.encodeRows(columns, cells, to - from), rows: to - from };
    if (slices.isOver((to - from) * columns.length * TEXT_WORK)) await slices.yield();
  }
}

/** The text of a cell takes as long as this many numbers. */
const TEXT_WORK = 30;
