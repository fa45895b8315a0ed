import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { MemoryBudget } from '#shared/limits/memory-budget';

/** There is not enough memory for an index of series, although no other one can be discarded. */
export class IndexesFull extends AlmanacError {
  constructor(tableName: string) {
    super(
      'resources_exhausted',
      `the series of table "${tableName}" need more memory than indexes of series may use: raise memory.limit`,
    );
  }
}

/** Memory of all indexes of series. */
export interface IndexMemoryLimits {
  /** Memory that no other cache uses. */
  readonly ownBytes: number;
  /** Memory beyond that, which decoded samples use if indexes do not. */
  readonly borrowedBytes: number;
}

/** Memory that the indexes of series share. */
export class IndexMemory {
  readonly #budget: MemoryBudget;
  readonly #ownBytes: number;
  /** Discards indexes that no query reads until that many bytes are free. */
  #makeRoom: (bytes: number) => void = () => undefined;

  constructor({ ownBytes, borrowedBytes }: IndexMemoryLimits, clock: Clock) {
    this.#ownBytes = ownBytes;
    this.#budget = new MemoryBudget({ name: 'series index', limitBytes: ownBytes + borrowedBytes, clock });
  }

  get usedBytes(): number {
    return this.#budget.usedBytes;
  }

  /** Bytes that are not used; negative if indexes grew beyond the limit in one step. */
  get freeBytes(): number {
    return this.#budget.limitBytes - this.#budget.usedBytes;
  }

  /** Bytes in use that decoded samples cannot have meanwhile. */
  get borrowedBytes(): number {
    return Math.max(0, this.#budget.usedBytes - this.#ownBytes);
  }

  /** Sets who discards indexes when there is not enough memory. @param makeRoom returns when the bytes are free or none can be discarded */
  onShortage(makeRoom: (bytes: number) => void): void {
    this.#makeRoom = makeRoom;
  }

  /** Opens the account of one index. */
  open(): IndexAccount {
    return new IndexAccount(this);
  }

  /** Changes the memory in use. @returns false, and changes nothing, if it would exceed the limit. */
  reserve(bytes: number): boolean {
    if (bytes > this.freeBytes) this.#makeRoom(bytes);
    if (bytes > this.freeBytes) return false;
    this.#budget.charge(bytes);
    return true;
  }

  /** Notes memory that is in use already, or returns some if the number is negative. */
  charge(bytes: number): void {
    if (bytes < 0) this.#budget.release(-bytes);
    else this.#budget.charge(bytes);
  }
}

/** Memory that one index has of that of all. */
export class IndexAccount {
  readonly #memory: IndexMemory;
  #bytes = 0;
  #isClosed = false;

  constructor(memory: IndexMemory) {
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Notes that the index has, or is going to have, this much memory. @returns false, and notes nothing, if that is too much. */
  grow(bytes: number): boolean {
    // Memory that no account has must not grow either.
    if (this.#isClosed) return false;
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#memory.reserve(more)) return false;
    if (more < 0) this.#memory.charge(more);
    this.#bytes = bytes;
    return true;
  }

  /** Notes that the index has this much memory, even if that is more than there is. */
  note(bytes: number): void {
    if (this.#isClosed) return;
    this.#memory.charge(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  /** Returns all memory: no reader uses the index any more. */
  close(): void {
    this.note(0);
    this.#isClosed = true;
  }
}
