import { NotForKernels, NotNowForKernels } from './query.js';

/** Part of the memory that one query gets at most. */
const SHARE_MAX = 0.5;

/** Memory that all queries share which kernels run at once. */
export class KernelMemory {
  readonly #bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins the part of one query. */
  open(): QueryMemory {
    return new QueryMemory(this.#bytesMax * SHARE_MAX, (bytes) => {
      if (this.#used + bytes > this.#bytesMax) return false;
      this.#used += bytes;
      return true;
    });
  }
}

/** What one query has of the memory. */
export class QueryMemory {
  readonly #bytesMax: number;
  readonly #take: (bytes: number) => boolean;
  #bytes = 0;

  /** @param take takes bytes, or returns them if they are negative, and reports whether there were as many. */
  constructor(bytesMax: number, take: (bytes: number) => boolean) {
    this.#bytesMax = bytesMax;
    this.#take = take;
  }

  /** What the query has now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes memory until `release`, or returns some if the number is negative. @throws `NotForKernels` if there is not as much. */
  reserve(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) throw new NotForKernels('it takes more memory than kernels have');
    // The engine can use the disk.
    if (!this.tryReserve(bytes)) throw new NotNowForKernels('other queries have the memory of kernels');
  }

  /** As `reserve`. @returns whether there is as much. */
  tryReserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax || !this.#take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Returns all of it. */
  release(): void {
    this.#take(-this.#bytes);
    this.#bytes = 0;
  }
}
