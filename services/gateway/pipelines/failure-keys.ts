import type { Random } from '#shared/clock/random';

const ID_BYTES = 8;

/** Gives each failed item of a process a time of its own: with the ID of the process it is the key of the row. */
export class FailureKeys {
  /** ID of this process. */
  readonly process: string;
  #lastNs = 0n;

  constructor(random: Random) {
    this.process = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
  }

  /** Returns the time of an item that was received at `nowNs`: the same, or a few nanoseconds later. */
  timeOf(nowNs: bigint): bigint {
    this.#lastNs = nowNs > this.#lastNs ? nowNs : this.#lastNs + 1n;
    return this.#lastNs;
  }
}
