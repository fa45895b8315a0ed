import type { Slices } from '#shared/clock/slices';
import type { MergeMode } from '#shared/schema/table-schema';
import type { Band } from '#shared/segments/bands';

import { runsOf, type Runs } from '../../columns/runs.js';
import type { FieldValues } from '../field-values.js';
import type { KeptValues } from '../fresh/kept-fields.js';
import type { QueryMemory } from '../memory.js';
import { NotForKernels } from '../query.js';
import { grown } from '../row-collector.js';
import { LENGTH_EXACT } from '../fresh/row-times.js';
import type { RowSpan } from '../row-spans.js';
import type { Fields, RowWalk, WalkSink } from '../row-walk.js';
import { sortedRows } from '../fresh/sorted-rows.js';

const FIRST_ROWS = 1024;
/** More rows take too long: each step over them is a slice of its own. */
const ROWS_MAX = 1 << 18;
/** Memory of a row without fields: series and time, before and after they are sorted, and its place in the order. */
const ROW_BYTES = 40;
/** Memory of a value, before and after. */
const VALUE_BYTES = 18;

interface CollectedField {
  readonly id: number;
  values: Float64Array;
  /** 1 where a row has a value. */
  present: Uint8Array;
  /** Whether some row has no value. */
  hasNulls: boolean;
  /** Greatest absolute value of integers; 0 for others. */
  magnitude: number;
}

/** Rows are merged in shorter time ranges. */
export class TooManyLateRows extends NotForKernels {}

/** As `TooManyLateRows`, for a reason that the next query may not have. */
export class LateMemoryShort extends TooManyLateRows {}

/** Rows as those of a row group: sorted by series and time. */
export interface SortedRows {
  readonly runs: Runs;
  readonly fields: Fields;
}

/** As `SortedRows`, with fields that can be kept. */
export interface MergedRows extends SortedRows {
  readonly fields: ReadonlyMap<number, KeptValues>;
}

/**
 * Collects the rows of a time range in which a row may have several versions, in the order of their sequences, and returns the
 * newest version of each.
 */
export class LateRows implements WalkSink {
  readonly isComplete = false;
  readonly #base: bigint;
  readonly #memory: QueryMemory;
  readonly #fields: readonly CollectedField[];
  #sids = new Uint32Array(0);
  #times = new Float64Array(0);
  #count = 0;

  /** @throws `NotForKernels` if the range is too long. */
  constructor({ first, last }: Band, fieldIds: readonly number[], memory: QueryMemory) {
    if (last - first > LENGTH_EXACT) throw new NotForKernels('late rows are far apart');
    this.#base = first;
    this.#memory = memory;
    this.#fields = fieldIds.map((id) => {
      return { id, values: new Float64Array(0), present: new Uint8Array(0), hasNulls: false, magnitude: 0 };
    });
  }

  begin(_rowCount: number, fields: Fields): void {
    for (const field of this.#fields) {
      field.magnitude = Math.max(field.magnitude, fields.get(field.id)?.magnitude ?? 0);
    }
  }

  add(span: RowSpan, _mask: Uint8Array | undefined, fields: Fields, walk: RowWalk): void {
    const { from, to } = span;
    const at = this.#count;
    const end = at + to - from;
    if (end > this.#sids.length) this.#grow(Math.max(end, this.#sids.length * 2, FIRST_ROWS));
    this.#count = end;
    this.#sids.fill(walk.sid, at, end);
    walk.copyTimes(span, this.#base, this.#times, at);
    for (const field of this.#fields) {
      const numbers = fields.get(field.id);
      field.hasNulls ||= numbers?.valid !== undefined || numbers === undefined;
      if (numbers !== undefined) copyValues(numbers, span, field.values, field.present, at);
    }
  }

  /** Prepares for about this many rows, so that arrays need not grow. */
  expect(rowCount: number): void {
    const capacity = Math.min(Math.ceil(rowCount), ROWS_MAX);
    const bytes = (capacity - this.#sids.length) * this.#bytesPerRow;
    if (bytes <= 0 || !this.#memory.tryReserve(bytes)) return;
    this.#memory.reserve(-bytes);
    this.#grow(capacity);
  }

  /** Returns one version of each row, as `mode` says. */
  async merged(mode: MergeMode, slices: Slices): Promise<MergedRows> {
    const order = await sortedRows(this.#sids.subarray(0, this.#count), this.#times, slices);
    const { kept, starts } = this.#keys(order);
    if (slices.isOver(this.#count * VALUE_WORK)) await slices.yield();
    const fields = new Map<number, KeptValues>();
    for (const field of this.#fields) {
      const merged =
        mode === 'last_row' || !field.hasNulls ? newest(field, order, kept) : newestValue(field, order, kept);
      if (merged !== undefined) fields.set(field.id, merged);
      if (slices.isOver(this.#count * VALUE_WORK)) await slices.yield();
    }
    return { runs: this.#runs(order, kept, starts), fields };
  }

  /** Returns the position in the order of the newest version of each row, and the first of these of each series. */
  #keys(order: Uint32Array): { readonly kept: Uint32Array; readonly starts: Uint32Array } {
    const kept = new Uint32Array(order.length);
    const starts: number[] = [];
    let count = 0;
    for (let i = 0; i < order.length; i++) {
      const [row, next] = [order[i], order[i + 1]];
      if (i === 0 || this.#sids[row] !== this.#sids[order[i - 1]]) starts.push(count);
      const isOlder =
        i + 1 < order.length && this.#sids[next] === this.#sids[row] && this.#times[next] === this.#times[row];
      if (!isOlder) kept[count++] = i;
    }
    return { kept: kept.subarray(0, count), starts: Uint32Array.from([...starts, count]) };
  }

  #runs(order: Uint32Array, kept: Uint32Array, rows: Uint32Array): Runs {
    const sids = new Uint32Array(rows.length - 1);
    for (let run = 0; run < sids.length; run++) sids[run] = this.#sids[order[kept[rows[run]]]];
    const numbers = new Float64Array(kept.length);
    for (let at = 0; at < kept.length; at++) numbers[at] = this.#times[order[kept[at]]];
    return runsOf({ sids, rows }, { numbers, base: this.#base, present: undefined });
  }

  /** Returns its memory. */
  release(): void {
    this.#memory.reserve(-this.#sids.length * this.#bytesPerRow);
  }

  get #bytesPerRow(): number {
    return ROW_BYTES + this.#fields.length * VALUE_BYTES;
  }

  #grow(capacity: number): void {
    if (this.#count > ROWS_MAX) throw new TooManyLateRows('there are too many late rows');
    if (!this.#memory.tryReserve((capacity - this.#sids.length) * this.#bytesPerRow)) {
      throw new LateMemoryShort('late rows take more memory than kernels have');
    }
    this.#sids = grown(this.#sids, new Uint32Array(capacity));
    this.#times = grown(this.#times, new Float64Array(capacity));
    for (const field of this.#fields) {
      field.values = grown(field.values, new Float64Array(capacity));
      field.present = grown(field.present, new Uint8Array(capacity));
    }
  }
}

/** A value takes as long as this many numbers. */
const VALUE_WORK = 5;

function copyValues(
  { values, base, valid }: FieldValues,
  { from, to }: RowSpan,
  target: Float64Array,
  present: Uint8Array,
  at: number,
): void {
  for (let row = from, out = at; row < to; row++, out++) target[out] = base + values[row];
  if (valid === undefined) present.fill(1, at, at + to - from);
  else for (let row = from, out = at; row < to; row++, out++) present[out] = (valid[row >> 3] >> (row & 7)) & 1;
}

/** Returns the values of the newest version of each row; undefined if all are null. */
function newest(field: CollectedField, order: Uint32Array, kept: Uint32Array): KeptValues | undefined {
  if (kept.length === 0) return undefined;
  const { values, present, hasNulls, magnitude } = field;
  if (!hasNulls) {
    const numbers = new Float64Array(kept.length);
    for (let at = 0; at < kept.length; at++) numbers[at] = values[order[kept[at]]];
    return { values: numbers, base: -0, valid: undefined, magnitude };
  }
  const merged = new MergedField(field, kept.length);
  for (let at = 0; at < kept.length; at++) {
    const row = order[kept[at]];
    if (present[row] === 1) merged.set(at, values[row]);
  }
  return merged.values();
}

/** Returns the newest values of each row that are not null; undefined if there are none. */
function newestValue(field: CollectedField, order: Uint32Array, kept: Uint32Array): KeptValues | undefined {
  const merged = new MergedField(field, kept.length);
  for (let at = 0; at < kept.length; at++) {
    const oldest = at === 0 ? 0 : kept[at - 1] + 1;
    let i = kept[at];
    while (i >= oldest && field.present[order[i]] === 0) i--;
    if (i >= oldest) merged.set(at, field.values[order[i]]);
  }
  return merged.values();
}

class MergedField {
  readonly #magnitude: number;
  readonly #values: Float64Array;
  readonly #valid: Uint8Array;
  #count = 0;

  constructor({ magnitude }: CollectedField, rowCount: number) {
    this.#magnitude = magnitude;
    this.#values = new Float64Array(rowCount);
    this.#valid = new Uint8Array((rowCount + 7) >> 3);
  }

  set(row: number, value: number): void {
    this.#values[row] = value;
    this.#valid[row >> 3] |= 1 << (row & 7);
    this.#count++;
  }

  values(): KeptValues | undefined {
    if (this.#count === 0) return undefined;
    const valid = this.#count === this.#values.length ? undefined : this.#valid;
    return { values: this.#values, base: -0, valid, magnitude: this.#magnitude };
  }
}
