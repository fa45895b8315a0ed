import type { RegionManifest } from '#shared/contracts/gen/common';

/** Counts when segments of a region went, so that two reads can be compared without the manifests that they saw. */
export class SegmentLosses {
  #last: RegionManifest | undefined;
  #count = 0;

  /** @returns the same number for two manifests only if the one that is given later still has all segments of the other. */
  upTo(manifest: RegionManifest): number {
    // What is older than the last one has lost something, too: that makes answers more careful, never wrong.
    if (this.#last !== undefined && !hasAllOf(this.#last, manifest)) this.#count++;
    this.#last = manifest;
    return this.#count;
  }
}

/** Whether a manifest still has all segments of an earlier one. */
function hasAllOf(before: RegionManifest, now: RegionManifest): boolean {
  if (before === now) return true;
  if (before.truncatedSequence !== now.truncatedSequence) return false;
  const paths = new Set(now.segments.map(({ path }) => path));
  return before.segments.every(({ path }) => paths.has(path));
}
