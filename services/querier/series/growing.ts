type NumberArray = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

/** Numbers of one kind, added at the end; never shrinks. */
class Growing<A extends NumberArray> {
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

  /** Makes room for so many numbers in all; the first time for no more. */
  reserve(count: number): void {
    if (count <= this.array.length) return;
    const next = this.#make(Math.max(count, this.array.length * 2));
    next.set(this.array.subarray(0, this.length));
    this.array = next;
  }
}

/** The first `count` numbers: not a view where these are all, which would take more than a few numbers themselves. */
export function firstOf<A extends Float64Array | Int32Array>(numbers: A, count: number): A {
  return count === numbers.length ? numbers : (numbers.subarray(0, count) as A);
}

export class Doubles extends Growing<Float64Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Float64Array(length));
  }
}

export class Integers extends Growing<Int32Array<ArrayBuffer>> {
  constructor() {
    super((length) => new Int32Array(length));
  }
}
