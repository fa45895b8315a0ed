import { Slices } from '#shared/clock/slices';

import { CELLS_MAX, type GroupAggregation } from './aggregation.js';
import { NotForKernels, type AggregateQuery, type RangeSlots, type TimeBuckets } from './query.js';
import type { AggregateResult, ExpressionOptions, Groups } from './result/result.js';
import { STEP_MAX, type TimeGrid } from './time-grid.js';

/** Memory of the result of an aggregate in one slot. */
const RESULT_BYTES = 24;
/** Most buckets that are combined, in some seconds. */
const COMBINED_MAX = 2 ** 25;
/** The result of a slot takes as long as this many of its buckets. */
const SLOT_WORK = 20;
/** Most slots that FILL adds between two with rows; with more, the engine reports the error. */
export const GAP_SLOTS_MAX = 32_767;

/** Returns the buckets that slots and their ranges consist of. @throws `NotForKernels` if a slot is too long. */
export function slotBuckets({ step, origin, lengths }: RangeSlots): TimeBuckets {
  if (step > STEP_MAX) throw new NotForKernels('the slots are too long');
  return { step: lengths.reduce(greatestDivisor, step), origin };
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestDivisor(b, a % b);
}

/** Groups of the buckets of a range query. */
export interface BucketGroups extends Groups {
  readonly aggregation: GroupAggregation;
}

/**
 * Combines groups of time buckets to the slots of a range query, and fills them.
 *
 * @param groups have the buckets that `slotBuckets` returns
 * @throws `NotForKernels` if the buckets in the ranges are too many, or FILL adds too many slots.
 */
export async function slotGroups(
  query: AggregateQuery,
  ranges: SlotRanges,
  groups: BucketGroups,
  { clock, memory, check }: ExpressionOptions,
): Promise<Groups> {
  const { labels, grid, aggregation } = groups;
  const { count } = ranges.grid;
  memory.reserve(labels.length * count * query.aggregates.length * RESULT_BYTES);
  const results = query.aggregates.map(({ name }) => {
    return new Array<AggregateResult>(labels.length * count).fill(name === 'count' ? 0 : null);
  });
  const cells: number[] = [];
  const buckets = aggregation.filledCells();
  const slices = new Slices(clock, { check });
  let combined = 0;
  let from = 0;
  for (let label = 0; label < labels.length; label++) {
    const [base, cell] = [label * grid.count, label * count];
    let to = from;
    while (to < buckets.length && buckets[to] < base + grid.count) to++;
    const withRows = ranges.slotsOf(buckets.slice(from, to).map((bucket) => bucket - base));
    from = to;
    const listed = ranges.isFilled ? withoutGaps(withRows) : withRows;
    for (const [i, values] of results.entries()) {
      combined += withRows.length * ranges.width(i);
      if (combined > COMBINED_MAX) throw new NotForKernels('the ranges have too many time buckets');
      for (const slot of withRows) {
        const [first, end] = ranges.bucketsOf(slot, i);
        values[cell + slot] = aggregation.combined(i, base + first, base + end);
        if (slices.isOver(SLOT_WORK + end - first)) await slices.yield();
      }
      const kind = query.aggregates[i].range?.fill;
      if (kind === 'prev') fillPrevious(values, cell, listed);
      if (kind === 'linear') fillLines(values, cell, listed, ranges.stepMs);
      if (slices.isOver(listed.length * SLOT_WORK)) await slices.yield();
    }
    for (const slot of listed) cells.push(cell + slot);
    if (slices.isOver(listed.length)) await slices.yield();
  }
  const result = (i: number, cell: number): AggregateResult => results[i][cell];
  return { labels, grid: ranges.grid, aggregation: { filledCells: () => cells, result } };
}

/** The slots of a range query that can have rows, numbered from 0, and the buckets in their ranges. */
export class SlotRanges {
  readonly grid: TimeGrid;
  readonly isFilled: boolean;
  readonly stepMs: number;
  readonly #bucketCount: number;
  /** Buckets from one slot to the next. */
  readonly #step: number;
  /** Buckets of the ranges, by aggregate, and of the longest one. */
  readonly #widths: readonly number[];
  readonly #widest: number;
  /** Bucket with which slot 0 begins, which may be before or after those of the grid. */
  readonly #first: number;

  /** @throws `NotForKernels` if the slots are too many. */
  constructor(
    { step, origin, lengths, isFilled, stepMs }: RangeSlots,
    { grid: { buckets, first, count }, labels }: Pick<BucketGroups, 'grid' | 'labels'>,
  ) {
    this.isFilled = isFilled;
    this.stepMs = stepMs;
    const bucketStep = buckets?.step ?? step;
    this.#bucketCount = count;
    this.#step = Number(step / bucketStep);
    this.#widths = lengths.map((length) => Number(length / bucketStep));
    this.#widest = Math.max(...this.#widths);
    const perSlot = step / bucketStep;
    const firstSlot = floorDivide(first - BigInt(this.#widest), perSlot) + 1n;
    const endSlot = count === 0 ? firstSlot : floorDivide(first + BigInt(count - 1), perSlot) + 1n;
    this.#first = Number(firstSlot * perSlot - first);
    this.grid = { buckets: { step, origin }, first: firstSlot, count: Math.max(0, Number(endSlot - firstSlot)) };
    if (labels.length * this.grid.count > CELLS_MAX) {
      throw new NotForKernels(`labels x slots of the range exceed ${CELLS_MAX} groups`);
    }
  }

  /** Number of buckets of the range of an aggregate. */
  width(aggregate: number): number {
    return this.#widths[aggregate];
  }

  /** Returns the buckets `[first, end)` of the range of an aggregate in a slot. */
  bucketsOf(slot: number, aggregate: number): readonly [first: number, end: number] {
    const first = this.#first + slot * this.#step;
    const end = Math.min(first + this.#widths[aggregate], this.#bucketCount);
    return [Math.min(Math.max(first, 0), end), end];
  }

  /** Returns the slots of which the longest range has rows, ascending. @param buckets those with rows, ascending */
  slotsOf(buckets: readonly number[]): number[] {
    const slots: number[] = [];
    let next = 0;
    for (const bucket of buckets) {
      const last = Math.floor((bucket - this.#first) / this.#step);
      const first = Math.floor((bucket - this.#first - this.#widest) / this.#step) + 1;
      for (next = Math.max(next, first); next <= last; next++) slots.push(next);
    }
    return slots;
  }
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a < 0n && quotient * b !== a ? quotient - 1n : quotient;
}

/** Returns the slots from the first to the last one. */
function withoutGaps(slots: readonly number[]): readonly number[] {
  const all: number[] = [];
  for (const slot of slots) {
    const next = all.length === 0 ? slot : all[all.length - 1] + 1;
    if (slot - next >= GAP_SLOTS_MAX) throw new NotForKernels('FILL adds too many slots');
    for (let added = next; added <= slot; added++) all.push(added);
  }
  return all;
}

/** Repeats the last result before null. @param slots without gaps @param cell of slot 0 */
function fillPrevious(values: AggregateResult[], cell: number, slots: readonly number[]): void {
  let previous: AggregateResult = null;
  for (const slot of slots) values[cell + slot] = previous = values[cell + slot] ?? previous;
}

/** Draws lines through the points on both sides of gaps, or through the two nearest ones before the first and after the last. */
function fillLines(values: AggregateResult[], cell: number, slots: readonly number[], stepMs: number): void {
  const points = slots.filter((slot) => values[cell + slot] !== null);
  const line = (a: number | undefined, b: number | undefined, slot: number): number | null => {
    if (a === undefined || b === undefined) return null;
    const [start, end] = [Number(values[cell + a]), Number(values[cell + b])];
    // In milliseconds, as the engine computes it.
    return start + ((end - start) * ((slot - a) * stepMs)) / ((b - a) * stepMs);
  };
  let after = 0;
  const filled = slots.map((slot) => {
    if (points[after] === slot) {
      after++;
      return values[cell + slot];
    }
    if (after === 0) return line(points.at(0), points.at(1), slot);
    if (after === points.length) return line(points.at(-2), points.at(-1), slot);
    return line(points[after - 1], points[after], slot);
  });
  for (const [i, slot] of slots.entries()) values[cell + slot] = filled[i];
}
