import type { AccumulatorState } from './accumulators.js';
import type { FieldValues } from './field-values.js';
import type { RowSpans } from './row-spans.js';
import type { RowWalk } from './row-walk.js';

/** State of a cell: it has no row, or a row whose value is null or a number. */
const NONE = 0;
const NULL = 1;
const NUMBER = 2;

/** Memory of a cell. */
export const EDGE_BYTES = 17;

/** Finds the value, which may be null, of the row with the least or the greatest time of each cell. */
export class EdgeValues {
  readonly #isLast: boolean;
  readonly #times: BigInt64Array;
  readonly #values: Float64Array;
  readonly #states: Uint8Array;

  constructor(name: 'first' | 'last', cells: number) {
    this.#isLast = name === 'last';
    this.#times = new BigInt64Array(cells);
    this.#values = new Float64Array(cells);
    this.#states = new Uint8Array(cells);
  }

  /**
   * Adds rows, which are in the order of their times within a span.
   *
   * @param numbers undefined: all are null
   * @param mask has 0 for each row that is left out
   */
  add(numbers: FieldValues | undefined, mask: Uint8Array | undefined, spans: RowSpans, walk: RowWalk): void {
    for (let i = 0; i < spans.count; i++) {
      const row = edgeRow(this.#isLast, mask, spans, i);
      if (row >= 0) this.#add(numbers, row, spans.cells[i], walk);
    }
  }

  #add(numbers: FieldValues | undefined, row: number, cell: number, walk: RowWalk): void {
    const time = walk.timeOf(row);
    const known = this.#times[cell];
    if (this.#states[cell] !== NONE && (this.#isLast ? time < known : time >= known)) return;
    this.#times[cell] = time;
    const isNull =
      numbers === undefined || (numbers.valid !== undefined && ((numbers.valid[row >> 3] >> (row & 7)) & 1) === 0);
    this.#states[cell] = isNull ? NULL : NUMBER;
    if (!isNull) this.#values[cell] = numbers.base + numbers.values[row];
  }

  /** Returns the value of a cell; null if it has no row, too. */
  result(cell: number): number | null {
    return this.#states[cell] === NUMBER ? this.#values[cell] : null;
  }

  /** Returns the value of the cells `[from, to)` together, which are in the order of time. */
  combined(from: number, to: number): number | null {
    const cell = edgeCell(this.#states, this.#isLast, from, to);
    return cell === undefined ? null : this.result(cell);
  }

  get state(): AccumulatorState {
    return [this.#times, this.#values, this.#states];
  }

  merge([times, values, states]: AccumulatorState): void {
    for (let cell = 0; cell < this.#states.length; cell++) {
      if (states[cell] === NONE) continue;
      const [time, known] = [times[cell] as bigint, this.#times[cell]];
      if (this.#states[cell] !== NONE && (this.#isLast ? time < known : time >= known)) continue;
      this.#times[cell] = time;
      this.#values[cell] = Number(values[cell]);
      this.#states[cell] = Number(states[cell]);
    }
  }
}

/** Finds the least or the greatest time of each cell. */
export class EdgeTimes {
  readonly #isLast: boolean;
  readonly #times: BigInt64Array;
  readonly #has: Uint8Array;

  constructor(name: 'min' | 'max', cells: number) {
    this.#isLast = name === 'max';
    this.#times = new BigInt64Array(cells);
    this.#has = new Uint8Array(cells);
  }

  /** Adds rows as those of `EdgeValues`. @param mask has 0 for each row that is left out */
  add(mask: Uint8Array | undefined, spans: RowSpans, walk: RowWalk): void {
    for (let i = 0; i < spans.count; i++) {
      const row = edgeRow(this.#isLast, mask, spans, i);
      if (row < 0) continue;
      const cell = spans.cells[i];
      const time = walk.timeOf(row);
      const known = this.#times[cell];
      if (this.#has[cell] === 1 && (this.#isLast ? time <= known : time >= known)) continue;
      this.#times[cell] = time;
      this.#has[cell] = 1;
    }
  }

  /** Returns the time of a cell; null if it has no row. */
  result(cell: number): bigint | null {
    return this.#has[cell] === 0 ? null : this.#times[cell];
  }

  /** Returns the time of the cells `[from, to)` together, which are in the order of time. */
  combined(from: number, to: number): bigint | null {
    const cell = edgeCell(this.#has, this.#isLast, from, to);
    return cell === undefined ? null : this.result(cell);
  }

  get state(): AccumulatorState {
    return [this.#times, this.#has];
  }

  merge([times, has]: AccumulatorState): void {
    for (let cell = 0; cell < this.#has.length; cell++) {
      if (has[cell] === 0) continue;
      const [time, known] = [times[cell] as bigint, this.#times[cell]];
      if (this.#has[cell] === 1 && (this.#isLast ? time <= known : time >= known)) continue;
      this.#times[cell] = time;
      this.#has[cell] = 1;
    }
  }
}

/** Returns the first or the last cell of `[from, to)` that has a row. @param states not 0 in cells with rows */
function edgeCell(states: Uint8Array, isLast: boolean, from: number, to: number): number | undefined {
  const count = to - from;
  for (let i = 0; i < count; i++) {
    const cell = isLast ? to - 1 - i : from + i;
    if (states[cell] !== NONE) return cell;
  }
  return undefined;
}

/** Returns the first or the last row of a span that is not left out; -1 if there is none. */
function edgeRow(isLast: boolean, mask: Uint8Array | undefined, spans: RowSpans, i: number): number {
  const [from, to] = [spans.from[i], spans.to[i]];
  if (mask === undefined) return isLast ? to - 1 : from;
  return isLast ? lastOf(mask, from, to) : firstOf(mask, from, to);
}

function lastOf(mask: Uint8Array, from: number, to: number): number {
  for (let row = to - 1; row >= from; row--) if (mask[row] !== 0) return row;
  return -1;
}

function firstOf(mask: Uint8Array, from: number, to: number): number {
  for (let row = from; row < to; row++) if (mask[row] !== 0) return row;
  return -1;
}
