import type { RegionInfo } from '#shared/contracts/gen/common';

/**
 * What a sender knows of one region's owner.
 *
 * A series whose `knownBy` is the present token needs no definition. The token is replaced when the region gets another
 * owner, or the owner starts anew: then every series counts as unknown, which costs at most one definition each.
 */
export class RegionLink {
  #token: object = {};
  #epoch: number;
  #incarnation: bigint | undefined;
  #lastCounter = 0;

  constructor(epoch: number) {
    this.#epoch = epoch;
  }

  /** The owner that a batch is sent to now. */
  tokenAt(epoch: number): object {
    if (epoch !== this.#epoch) {
      this.#epoch = epoch;
      this.#replace(undefined);
    }
    return this.#token;
  }

  /** The owner that answered. */
  tokenOf(incarnation: bigint): object {
    if (this.#incarnation === undefined) this.#incarnation = incarnation;
    else if (this.#incarnation !== incarnation) this.#replace(incarnation);
    return this.#token;
  }

  /** Batch counters of a region are taken in order: its owner keeps the ids that it applied as ranges. */
  nextCounter(): number {
    return ++this.#lastCounter;
  }

  #replace(incarnation: bigint | undefined): void {
    this.#token = {};
    this.#incarnation = incarnation;
  }
}

/** The links of a sender, by region. */
export class RegionLinks {
  readonly #links = new Map<number, RegionLink>();

  link(region: RegionInfo): RegionLink {
    let link = this.#links.get(region.regionId);
    if (link === undefined) {
      link = new RegionLink(region.epoch);
      this.#links.set(region.regionId, link);
    }
    return link;
  }

  /** Region ids are never used again, so what is forgotten here may not be sent to any more. */
  forget(regionIds: readonly number[]): void {
    for (const regionId of regionIds) this.#links.delete(regionId);
  }
}
