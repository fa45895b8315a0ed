/** What several threads have read so far for one query. A message to another thread has its memory. */
export class SharedProgress {
  /** Rows that were read, their bytes, and rows that are done. */
  readonly memory: BigInt64Array<SharedArrayBuffer>;

  constructor(memory = new BigInt64Array(new SharedArrayBuffer(3 * BigInt64Array.BYTES_PER_ELEMENT))) {
    this.memory = memory;
  }

  get rows(): number {
    return Number(Atomics.load(this.memory, 0));
  }

  /** Size of these rows in their segments. */
  get bytes(): number {
    return Number(Atomics.load(this.memory, 1));
  }

  /** Rows of the segments that are done, including those that are not read. */
  get done(): number {
    return Number(Atomics.load(this.memory, 2));
  }

  /** Adds whole numbers to what was read. */
  add(rows: number, bytes: number, done: number): void {
    Atomics.add(this.memory, 0, BigInt(rows));
    Atomics.add(this.memory, 1, BigInt(Math.round(bytes)));
    Atomics.add(this.memory, 2, BigInt(Math.round(done)));
  }
}
