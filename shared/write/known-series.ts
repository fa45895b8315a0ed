import type { RegionInfo } from '#shared/contracts/gen/common';

/**
 * The state of a sender for the owner of one region.
 *
 * A series whose `knownBy` is the current token needs no definition. The token is replaced when the region gets another
 * owner or the owner restarts: then every series counts as unknown, which costs at most one definition each.
 */
export class RegionLink {
  #token: object = {};
  #epoch: number;
  #incarnation: bigint | undefined;
  #lastCounter = 0;
  /** Settles when a batch that defines many series is delivered; never rejects. */
  defining: Promise<void> | undefined = undefined;

  constructor(epoch: number) {
    this.#epoch = epoch;
  }

  /** Returns the token for the owner that a batch is sent to now. */
  tokenAt(epoch: number): object {
    if (epoch !== this.#epoch) {
      this.#epoch = epoch;
      this.#replace(undefined);
    }
    return this.#token;
  }

  /** Returns the token for the owner that replied. */
  tokenOf(incarnation: bigint): object {
    if (this.#incarnation === undefined) this.#incarnation = incarnation;
    else if (this.#incarnation !== incarnation) this.#replace(incarnation);
    return this.#token;
  }

  /** Batch counters of a region increase: its owner stores the IDs that it applied as ranges. */
  nextCounter(): number {
    return ++this.#lastCounter;
  }

  /** Runs the delivery of a batch that defines many series. */
  async define(deliver: () => Promise<void>): Promise<void> {
    const delivered = deliver();
    const settled = delivered.catch(() => undefined);
    this.defining = settled;
    try {
      await delivered;
    } finally {
      if (this.defining === settled) this.defining = undefined;
    }
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

  /** Drops regions that no longer exist; their IDs are never used again. */
  forget(regionIds: readonly number[]): void {
    for (const regionId of regionIds) this.#links.delete(regionId);
  }
}
