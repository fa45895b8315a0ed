import { NotNowForKernels } from './query.js';

/** Memory that all queries share which kernels run at once. */
export class KernelMemory {
  readonly #bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins the part of one query. */
  open(): QueryMemory {
    return new QueryMemory((bytes) => {
      if (this.#used + bytes > this.#bytesMax) return false;
      this.#used += bytes;
      return true;
    });
  }
}

/** What one query has of the memory. */
export class QueryMemory {
  readonly #take: (bytes: number) => boolean;
  #bytes = 0;

  /** @param take takes bytes, or returns them if they are negative, and reports whether there were as many. */
  constructor(take: (bytes: number) => boolean) {
    this.#take = take;
  }

  /** Takes memory until `release`. @throws `NotNowForKernels` if there is not as much: the engine can use the disk. */
  reserve(bytes: number): void {
    if (!this.tryReserve(bytes)) throw new NotNowForKernels('kernels have too little memory left');
  }

  /** Takes memory until `release`, or gives some back. @returns whether there is as much. */
  tryReserve(bytes: number): boolean {
    if (!this.#take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Gives all of it back. */
  release(): void {
    this.#take(-this.#bytes);
    this.#bytes = 0;
  }
}
