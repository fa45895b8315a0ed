type NumberArray = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

const FIRST_LENGTH = 16;
const BLOCK_BITS = 16;
const BLOCK_LENGTH = 1 << BLOCK_BITS;
const BLOCK_MASK = BLOCK_LENGTH - 1;

/** A growing array of numbers that is stored in blocks, so that growth copies at most one block. */
export class Blocks<A extends NumberArray> {
  length = 0;
  readonly #blocks: A[] = [];
  readonly #make: (length: number) => A;

  constructor(make: (length: number) => A) {
    this.#make = make;
  }

  /** Number of elements in memory. */
  get capacity(): number {
    return this.#blocks.length > 1 ? this.#blocks.length * BLOCK_LENGTH : (this.#blocks.at(0)?.length ?? 0);
  }

  get(at: number): number {
    return this.#blocks[at >>> BLOCK_BITS][at & BLOCK_MASK];
  }

  set(at: number, value: number): void {
    this.#blocks[at >>> BLOCK_BITS][at & BLOCK_MASK] = value;
  }

  /** Extends the array with zeros to `length`; never shrinks it. */
  extend(length: number): void {
    if (this.#blocks.length <= 1) this.#growFirst(Math.min(length, BLOCK_LENGTH));
    while (this.#blocks.length * BLOCK_LENGTH < length) this.#blocks.push(this.#make(BLOCK_LENGTH));
    this.length = Math.max(this.length, length);
  }

  /** Starts the first block small and doubles it: a process may hold many short arrays. */
  #growFirst(length: number): void {
    const first = this.#blocks.at(0);
    const had = first?.length ?? 0;
    if (length <= had) return;
    const next = this.#make(Math.min(Math.max(FIRST_LENGTH, length, had * 2), BLOCK_LENGTH));
    if (first !== undefined) next.set(first);
    this.#blocks[0] = next;
  }

  /** Copies `values` to the positions from `at`, which must exist. */
  setAll(values: A, at: number): void {
    for (let from = 0; from < values.length;) {
      const offset = (at + from) & BLOCK_MASK;
      const to = Math.min(from + BLOCK_LENGTH - offset, values.length);
      this.#blocks[(at + from) >>> BLOCK_BITS].set(values.subarray(from, to), offset);
      from = to;
    }
  }

  /** Sets the positions `[from, to)` to `value`. */
  fill(value: number, from: number, to: number): void {
    for (let at = from; at < to;) {
      const offset = at & BLOCK_MASK;
      const end = Math.min(offset + to - at, BLOCK_LENGTH);
      this.#blocks[at >>> BLOCK_BITS].fill(value, offset, end);
      at += end - offset;
    }
  }
}

/** Growing array of 64-bit floats. */
export class DoubleBlocks extends Blocks<Float64Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Float64Array(length));
  }
}

/** Growing array of 32-bit integers. */
export class IntegerBlocks extends Blocks<Int32Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Int32Array(length));
  }
}

/** Growing array of bytes that hold flags. */
export class FlagBlocks extends Blocks<Uint8Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Uint8Array(length));
  }
}
