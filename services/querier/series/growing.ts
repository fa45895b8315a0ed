type NumberArray = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

/** A typed array to which numbers are appended; never shrinks. */
class GrowingNumbers<A extends NumberArray> {
  length = 0;
  array: A;
  readonly #make: (length: number) => A;

  constructor(make: (length: number) => A) {
    this.#make = make;
    this.array = make(0);
  }

  push(value: number): void {
    if (this.length === this.array.length) this.reserve(this.length + 1);
    this.array[this.length++] = value;
  }

  /** Makes room for `count` numbers in all. The first reservation allocates exactly that much. */
  reserve(count: number): void {
    if (count <= this.array.length) return;
    const next = this.#make(Math.max(count, this.array.length * 2));
    next.set(this.array.subarray(0, this.length));
    this.array = next;
  }
}

/** Returns the first `count` numbers. Avoids a view of the whole array, because a view costs more memory than a few numbers. */
export function leadingNumbers<A extends Float64Array | Int32Array>(numbers: A, count: number): A {
  return count === numbers.length ? numbers : (numbers.subarray(0, count) as A);
}

/** Append-only array of 64-bit floats. */
export class Doubles extends GrowingNumbers<Float64Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Float64Array(length));
  }
}

/** Append-only array of 32-bit integers. */
export class Integers extends GrowingNumbers<Int32Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Int32Array(length));
  }
}
