import type { DroppedTable } from '#shared/contracts/gen/metadata';
import type { Random } from '#shared/clock/random';

/**
 * Who opened each region last. A process that ended without a word may have left a seal on its way, which names the same
 * grant as its successor's: by its opening it is told apart.
 *
 * Kept in memory: numbers are drawn, so none of before a restart is valid after it, and owners open their regions again.
 */
export class RegionOpenings {
  readonly #random: Random;
  readonly #last = new Map<number, bigint>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** A number for the process that opens the region now. Those of before are void. */
  open(regionId: number): bigint {
    const { buffer } = this.#random.bytes(8);
    const opening = new DataView(buffer).getBigUint64(0) | 1n;
    this.#last.set(regionId, opening);
    return opening;
  }

  isCurrent(regionId: number, opening: bigint): boolean {
    return this.#last.get(regionId) === opening;
  }

  /** A region that has a new grant was opened by nobody. */
  closed(regionId: number): void {
    this.#last.delete(regionId);
  }

  /** Forgets the regions of dropped tables. */
  dropped(tables: readonly DroppedTable[]): void {
    for (const { regions } of tables) for (const { regionId } of regions) this.#last.delete(regionId);
  }
}
