import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { NumberCells } from '#shared/duckdb/column-cells';

import {
  accumulatorOf,
  bytesPerCell,
  CountAccumulator,
  type AccumulatorState,
  type GroupAccumulator,
} from './accumulators.js';
import { EDGE_BYTES, EdgeTimes, EdgeValues } from './edge-values.js';
import type { FieldValues } from './field-values.js';
import { clearNulls, clearWhere } from './masks.js';
import type { QueryMemory } from './memory.js';
import { NotForKernels, type AggregateName, type AggregateQuery } from './query.js';
import { RowSpans, type RowSpan } from './row-spans.js';
import type { Fields, RowWalk, WalkSink } from './row-walk.js';

/** Sums of integers are exact below 2^53; on the way, values relative to the least one add up to three times the sum. */
const SUM_MAX = 2 ** 51;

/** All cells are looked at without a pause: some 10 ms. */
export const CELLS_MAX = 1 << 21;

/** What an aggregation has added up, which can be sent to another thread. */
export interface AggregationState {
  /** Of the number of rows, and of each aggregate. */
  readonly states: readonly AccumulatorState[];
  readonly sumBounds: readonly number[];
}

const NO_ROWS = new Uint8Array(0);
/** The span of a call of `add`. */
const oneSpan = new RowSpans(1);

/** Aggregates rows into cells. */
export class GroupAggregation implements WalkSink {
  readonly isComplete = false;
  readonly bytesPerCell: number;
  readonly #query: AggregateQuery;
  readonly #rows: CountAccumulator;
  readonly #accumulators: readonly (GroupAccumulator | EdgeTimes | EdgeValues)[];
  /** Bounds of the absolute values of sums of integers, by aggregate. */
  readonly #sumBounds: number[] = [];
  readonly #cells: number;
  /** Number of rows of the current row group or batch. */
  #rowCount = 0;
  /** Rows in which a field has a value; allocated when it is needed. */
  #present = NO_ROWS;

  constructor(query: AggregateQuery, cells: number, memory: QueryMemory) {
    this.#query = query;
    this.#cells = cells;
    if (cells > CELLS_MAX) throw new NotForKernels(`labels x time buckets of the range exceed ${CELLS_MAX} groups`);
    this.bytesPerCell = query.aggregates.reduce((sum, { name }) => sum + bytesOf(name), bytesPerCell('count'));
    memory.reserve(cells * this.bytesPerCell);
    this.#rows = new CountAccumulator(cells);
    const accumulators: (GroupAccumulator | EdgeTimes | EdgeValues)[] = [];
    for (const { name, field } of query.aggregates) {
      const isOfTimes = field?.kind === 'time' && (name === 'min' || name === 'max');
      if (isEdge(name)) accumulators.push(new EdgeValues(name, cells));
      else accumulators.push(isOfTimes ? new EdgeTimes(name, cells) : accumulatorOf(name, cells));
      this.#sumBounds.push(0);
    }
    this.#accumulators = accumulators;
  }

  /** Returns the cells that have rows, ascending. */
  filledCells(): number[] {
    const cells: number[] = [];
    for (let cell = 0; cell < this.#cells; cell++) if (this.#rows.result(cell) > 0) cells.push(cell);
    return cells;
  }

  /** Returns an aggregate of a cell. @param i position of the aggregate in the query. */
  result(i: number, cell: number): number | bigint | null {
    // There is no cell if the time range has no rows.
    if (cell >= this.#cells) return this.#query.aggregates[i].name === 'count' ? 0 : null;
    return this.#query.aggregates[i].field === undefined ? this.#rows.result(cell) : this.#accumulators[i].result(cell);
  }

  /** Returns an aggregate of filled cells in arrays; undefined if it is no number. @param i as for `result`. */
  results(i: number, cells: readonly number[]): NumberCells | undefined {
    const accumulator = this.#query.aggregates[i].field === undefined ? this.#rows : this.#accumulators[i];
    return 'results' in accumulator && cells.every((cell) => cell < this.#cells)
      ? accumulator.results(cells)
      : undefined;
  }

  /** Returns an aggregate of the cells `[from, to)` together, which are in the order of time. */
  combined(i: number, from: number, to: number): number | bigint | null {
    const accumulator = this.#query.aggregates[i].field === undefined ? this.#rows : this.#accumulators[i];
    return accumulator.combined(from, to);
  }

  get state(): AggregationState {
    return { states: [this.#rows, ...this.#accumulators].map(({ state }) => state), sumBounds: this.#sumBounds };
  }

  /** Adds what an aggregation of the same query and cells has added up. @throws `NotForKernels` as `begin`. */
  async merge({ states, sumBounds }: AggregationState, clock: Clock): Promise<void> {
    for (const [i, bound] of sumBounds.entries()) this.#addSumBound(i, bound);
    const slices = new Slices(clock);
    for (const [i, accumulator] of [this.#rows, ...this.#accumulators].entries()) {
      accumulator.merge(states[i]);
      if (slices.isOver(this.#cells)) await slices.yield();
    }
  }

  /** @throws `NotForKernels` if sums of integers may not be exact. */
  begin(rowCount: number, fields: Fields): void {
    for (const [i, { name, field }] of this.#query.aggregates.entries()) {
      if (field === undefined || (name !== 'sum' && name !== 'avg')) continue;
      this.#addSumBound(i, (fields.get(field.id)?.magnitude ?? 0) * rowCount);
    }
    this.#rowCount = rowCount;
  }

  #addSumBound(i: number, bound: number): void {
    this.#sumBounds[i] += bound;
    if (this.#sumBounds[i] > SUM_MAX) throw new NotForKernels('sums of integers beyond 2^51');
  }

  add({ from, to, cell }: RowSpan, matching: Uint8Array | undefined, fields: Fields, walk: RowWalk): void {
    oneSpan.count = 0;
    oneSpan.add(from, to, cell);
    this.addSpans(oneSpan, matching, fields, walk);
  }

  addSpans(spans: RowSpans, matching: Uint8Array | undefined, fields: Fields, walk: RowWalk): void {
    const { aggregates } = this.#query;
    this.#rows.add(undefined, matching, spans);
    for (let i = 0; i < aggregates.length; i++) {
      const { field } = aggregates[i];
      const numbers = field === undefined ? undefined : fields.get(field.id);
      const accumulator = this.#accumulators[i];
      if (accumulator instanceof EdgeValues) accumulator.add(numbers, matching, spans, walk);
      else if (accumulator instanceof EdgeTimes) accumulator.add(matching, spans, walk);
      else if (numbers !== undefined) accumulator.add(numbers, this.#maskOf(numbers, matching, spans), spans);
    }
  }

  /** Returns a mask with 0 for each row that is left out, or has no value. */
  #maskOf(
    { valid }: FieldValues,
    matching: Uint8Array | undefined,
    { rows: { from, to } }: RowSpans,
  ): Uint8Array | undefined {
    if (valid === undefined) return matching;
    if (this.#present.length < this.#rowCount) this.#present = new Uint8Array(this.#rowCount);
    const mask = this.#present;
    mask.fill(1, from, to);
    clearNulls(mask, valid, from, to);
    if (matching !== undefined) clearWhere(mask, matching, from, to);
    return mask;
  }
}

function isEdge(name: AggregateName): name is 'first' | 'last' {
  return name === 'first' || name === 'last';
}

function bytesOf(name: AggregateName): number {
  return isEdge(name) ? EDGE_BYTES : bytesPerCell(name);
}
