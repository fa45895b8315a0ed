/** Successive rows, by their numbers: `[from, to)`. */
export interface RowNumbers {
  readonly from: number;
  readonly to: number;
}

/** Rows of one series, and their cell: `label * bucket count + bucket`. */
export interface RowSpan extends RowNumbers {
  readonly cell: number;
}

/** Spans of one series, in the order of their rows. */
export class RowSpans {
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly cells: Int32Array;
  count = 0;

  constructor(capacity: number) {
    this.from = new Int32Array(capacity);
    this.to = new Int32Array(capacity);
    this.cells = new Int32Array(capacity);
  }

  get isFull(): boolean {
    return this.count === this.cells.length;
  }

  /** Returns the rows of all spans; there must be one. */
  get rows(): RowNumbers {
    return { from: this.from[0], to: this.to[this.count - 1] };
  }

  add(from: number, to: number, cell: number): void {
    this.from[this.count] = from;
    this.to[this.count] = to;
    this.cells[this.count++] = cell;
  }
}
