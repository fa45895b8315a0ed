import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, UNIT_NS } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import type { TimeBounds } from '#shared/segments/bands';

import { NotForKernels, type AggregateQuery, type GroupKey, type KernelQuery } from '../../../kernels/query.js';
import { slotBuckets } from '../../../kernels/slots.js';
import type { RangeDurations } from '../../range/flat-range.js';
import type { RewrittenRanges } from '../../range/rewrite-ranges.js';
import type { Ast } from '../../syntax/ast.js';
import type { Literal } from '../../syntax/literals.js';
import type { QueryText } from '../../syntax/query-text.js';
import { kernelShapeOf, type KernelRefusal, type KernelShape, type PlannedText } from './kernel-shape.js';
import { lift, planShapeOf, type LiftedQuery } from '../lift-literals.js';
import { shiftParameters } from '../load-views.js';
import { bindingOf, type PlanTable } from '../plan-table.js';
import type { ResolvedQuery } from '../resolve.js';

/** The flat query of a range query without its literals. */
export interface LiftedRange {
  /** Undefined: the query is no range query, or has no flat one. */
  readonly text: { readonly query: QueryText; readonly lifted: LiftedQuery } | undefined;
  readonly literals: readonly Literal[];
  readonly durations: RangeDurations | undefined;
  /** Equal for flat queries that a plan can share. */
  readonly shape: string | undefined;
  /** Why there is none. */
  readonly refusal: string | undefined;
}

/** Lifts the literals of a flat query. */
export function liftedRange(flat: RewrittenRanges['flat']): LiftedRange {
  if (flat === undefined || typeof flat === 'string') {
    return { text: undefined, literals: [], durations: undefined, shape: flat, refusal: flat };
  }
  const { query, durations } = flat;
  const lifted = lift(query.tokens, query.from, query.to, false);
  return {
    text: { query, lifted },
    literals: lifted.literals,
    durations,
    shape: planShapeOf(lifted),
    refusal: undefined,
  };
}

/**
 * Parses a flat query.
 *
 * @param literalCount of the query itself, which come first
 * @returns its tree, or why kernels cannot run it; undefined if the query is no range query.
 */
export async function parseFlat(
  { text, refusal }: LiftedRange,
  literalCount: number,
  parse: (text: NonNullable<LiftedRange['text']>) => Promise<{ readonly ast: Ast; readonly keepsLiterals: boolean }>,
): Promise<Ast | KernelRefusal | undefined> {
  if (text === undefined) return refusal === undefined ? undefined : { refusal };
  try {
    const { ast, keepsLiterals } = await parse(text);
    if (keepsLiterals) return { refusal: 'the range query has literals where the plan needs them' };
    shiftParameters(ast, literalCount);
    return ast;
  } catch (error) {
    return refused(error);
  }
}

/** The engine reports errors of the query itself. */
function refused(error: unknown): KernelRefusal {
  if (error instanceof AlmanacError) return { refusal: error.message };
  throw error;
}

/** Recognises the flat query of a range query. */
export function rangeShapeOf(
  flat: Ast | KernelRefusal,
  resolve: (ast: Ast) => ResolvedQuery,
  planned: PlannedText,
): KernelShape | KernelRefusal {
  if ('refusal' in flat) return flat;
  try {
    const resolved = resolve(flat);
    const shape = kernelShapeOf(flat, resolved, { ...planned, marksRanges: true });
    return 'refusal' in shape ? shape : withSlots(shape, resolved.tables[0]);
  } catch (error) {
    return refused(error);
  }
}

/** @param table in the flat query: its bounds are conditions that the shape leaves out */
function withSlots(shape: KernelShape, table: PlanTable): KernelShape {
  return {
    ...shape,
    bind(run, bounds, durations) {
      const { timeFrom, timeTo } = bindingOf(table, run).request ?? {};
      return slotted(shape.bind(run, within(bounds, { from: timeFrom, to: timeTo })), table, durations);
    },
  };
}

function within(a: TimeBounds, b: TimeBounds): TimeBounds {
  const from = a.from === undefined || (b.from !== undefined && b.from > a.from) ? b.from : a.from;
  const to = a.to === undefined || (b.to !== undefined && b.to < a.to) ? b.to : a.to;
  return { from, to };
}

function slotted(query: KernelQuery, { table }: PlanTable, durations: RangeDurations | undefined): AggregateQuery {
  if (query.kind !== 'groups' || durations === undefined) throw new NotForKernels('the range query has no groups');
  const unitNs = UNIT_NS[dataType(timeIndexOf(table).type).timeUnit ?? 'ns'];
  const units = (ms: number): bigint => (BigInt(ms) * 1_000_000n) / unitNs;
  const lengths = query.aggregates.map(({ range }) => {
    if (range === undefined) throw new NotForKernels('an aggregate has no RANGE');
    return units(durations.rangesMs[range.number]);
  });
  const { alignMs, originMs, isFilled } = durations;
  const slots = { step: units(alignMs), origin: units(originMs), lengths, isFilled, stepMs: alignMs };
  const buckets = slotBuckets(slots);
  const keys = query.keys.map((key): GroupKey => (key.kind === 'bucket' ? { kind: 'bucket', buckets } : key));
  // Slots are the buckets.
  if (!isFilled && lengths.every((length) => length === slots.step)) return { ...query, keys };
  return { ...query, keys, slots };
}
