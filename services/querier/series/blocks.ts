type NumberArray = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

const FIRST_LENGTH = 16;
const BLOCK_BITS = 16;
const BLOCK_LENGTH = 1 << BLOCK_BITS;
const BLOCK_MASK = BLOCK_LENGTH - 1;

/** Numbers of one kind that grow by blocks: however many there are, only those of the first are copied to make room. */
export class Blocks<A extends NumberArray> {
  length = 0;
  readonly #blocks: A[] = [];
  readonly #make: (length: number) => A;

  constructor(make: (length: number) => A) {
    this.#make = make;
  }

  get(at: number): number {
    return this.#blocks[at >>> BLOCK_BITS][at & BLOCK_MASK];
  }

  set(at: number, value: number): void {
    this.#blocks[at >>> BLOCK_BITS][at & BLOCK_MASK] = value;
  }

  /** Makes it so long, with 0 for what is new; never shorter. */
  extend(length: number): void {
    if (this.#blocks.length <= 1) this.#growFirst(Math.min(length, BLOCK_LENGTH));
    while (this.#blocks.length * BLOCK_LENGTH < length) this.#blocks.push(this.#make(BLOCK_LENGTH));
    this.length = Math.max(this.length, length);
  }

  /** A few numbers take little: there may be many lists of them. */
  #growFirst(length: number): void {
    const first = this.#blocks.at(0);
    const had = first?.length ?? 0;
    if (length <= had) return;
    const next = this.#make(Math.min(Math.max(FIRST_LENGTH, length, had * 2), BLOCK_LENGTH));
    if (first !== undefined) next.set(first);
    this.#blocks[0] = next;
  }

  /** Writes numbers from `at` on, where there is room for them. */
  setAll(values: A, at: number): void {
    for (let from = 0; from < values.length;) {
      const place = (at + from) & BLOCK_MASK;
      const to = Math.min(from + BLOCK_LENGTH - place, values.length);
      this.#blocks[(at + from) >>> BLOCK_BITS].set(values.subarray(from, to), place);
      from = to;
    }
  }

  /** Writes one number to `[from, to)`. */
  fill(value: number, from: number, to: number): void {
    for (let at = from; at < to;) {
      const place = at & BLOCK_MASK;
      const end = Math.min(place + to - at, BLOCK_LENGTH);
      this.#blocks[at >>> BLOCK_BITS].fill(value, place, end);
      at += end - place;
    }
  }
}

export class DoubleBlocks extends Blocks<Float64Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Float64Array(length));
  }
}

export class IntegerBlocks extends Blocks<Int32Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Int32Array(length));
  }
}

export class FlagBlocks extends Blocks<Uint8Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Uint8Array(length));
  }
}
