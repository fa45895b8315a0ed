import type { DroppedTable } from '#shared/contracts/gen/metadata';
import type { Random } from '#shared/clock/random';

/**
 * The last opening of each region. A killed process may have left a seal on its way that names the same grant as its
 * successor's; the opening distinguishes the two.
 *
 * In memory only: openings are random numbers, so none from before a restart is valid after it, and owners open their
 * regions again.
 */
export class RegionOpenings {
  readonly #random: Random;
  readonly #last = new Map<number, bigint>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns an id for the process that opens the region now. Earlier openings become invalid. */
  open(regionId: number): bigint {
    const { buffer } = this.#random.bytes(8);
    const opening = new DataView(buffer).getBigUint64(0) | 1n;
    this.#last.set(regionId, opening);
    return opening;
  }

  isCurrent(regionId: number, opening: bigint): boolean {
    return this.#last.get(regionId) === opening;
  }

  /** Removes the opening of a region with a new grant. */
  closed(regionId: number): void {
    this.#last.delete(regionId);
  }

  /** Removes the regions of dropped tables. */
  dropped(tables: readonly DroppedTable[]): void {
    for (const { regions } of tables) for (const { regionId } of regions) this.#last.delete(regionId);
  }
}
