import { accumulatorOf, bytesPerCell, CountAccumulator, type GroupAccumulator } from './accumulators.js';
import { clearNulls, clearWhere } from './masks.js';
import { NotForKernels, type AggregateQuery } from './query.js';
import type { Fields, WalkSink, RowSpan } from './row-walk.js';

/** Sums of integers are exact below 2^53; on the way, values relative to the least one add up to three times the sum. */
const SUM_MAX = 2 ** 51;

/** Aggregates rows into cells. */
export class GroupAggregation implements WalkSink {
  readonly isComplete = false;
  readonly #query: AggregateQuery;
  readonly #rows: CountAccumulator;
  readonly #accumulators: readonly GroupAccumulator[];
  /** Bounds of the absolute values of sums of integers, by aggregate. */
  readonly #sumBounds: number[];
  readonly #cells: number;
  /** Rows in which a field has a value. */
  #present = new Uint8Array(0);

  /** @throws `NotForKernels` if its cells take more than `bytesMax`. */
  constructor(query: AggregateQuery, cells: number, bytesMax: number) {
    this.#query = query;
    this.#cells = cells;
    if (
      cells * query.aggregates.reduce((sum, { name }) => sum + bytesPerCell(name), bytesPerCell('count')) >
      bytesMax
    ) {
      throw new NotForKernels('the result has too many groups');
    }
    this.#rows = new CountAccumulator(cells);
    this.#accumulators = query.aggregates.map((aggregate) => accumulatorOf(aggregate, cells));
    this.#sumBounds = query.aggregates.map(() => 0);
  }

  /** Returns the cells that have rows, ascending. */
  filledCells(): number[] {
    const cells: number[] = [];
    for (let cell = 0; cell < this.#cells; cell++) if (this.#rows.result(cell) > 0) cells.push(cell);
    return cells;
  }

  /** Returns an aggregate of a cell. @param i position of the aggregate in the query. */
  result(i: number, cell: number): number | null {
    // There is no cell if the time range has no rows.
    if (cell >= this.#cells) return this.#query.aggregates[i].name === 'count' ? 0 : null;
    return this.#query.aggregates[i].field === undefined ? this.#rows.result(cell) : this.#accumulators[i].result(cell);
  }

  begin(rowCount: number, fields: Fields): void {
    for (const [i, { name, field }] of this.#query.aggregates.entries()) {
      if (field === undefined || (name !== 'sum' && name !== 'avg')) continue;
      this.#sumBounds[i] += (fields.get(field.id)?.magnitude ?? 0) * rowCount;
      if (this.#sumBounds[i] > SUM_MAX) throw new NotForKernels('sums of integers beyond 2^51');
    }
    if (this.#present.length < rowCount) this.#present = new Uint8Array(rowCount);
  }

  add({ from, to, cell }: RowSpan, matching: Uint8Array | undefined, fields: Fields): void {
    const { aggregates } = this.#query;
    this.#rows.add(undefined, matching, from, to, cell);
    for (let i = 0; i < aggregates.length; i++) {
      const { field } = aggregates[i];
      const numbers = field === undefined ? undefined : fields.get(field.id);
      if (numbers === undefined) continue;
      let mask = matching;
      if (numbers.valid !== undefined) {
        mask = this.#present;
        mask.fill(1, from, to);
        clearNulls(mask, numbers.valid, from, to);
        if (matching !== undefined) clearWhere(mask, matching, from, to);
      }
      this.#accumulators[i].add(numbers, mask, from, to, cell);
    }
  }
}
