import type { RegionManifest } from '#shared/contracts/gen/common';

/** Counts removals of segments from a region, so that two reads can be compared without keeping their manifests. */
export class SegmentLosses {
  #last: RegionManifest | undefined;
  #count = 0;

  /** Returns equal numbers for two manifests only if the one that is passed later still has all segments of the other. */
  generationOf(manifest: RegionManifest): number {
    // An older manifest counts as a removal too, which costs a recomputation but is never wrong.
    if (this.#last !== undefined && !hasAllOf(this.#last, manifest)) this.#count++;
    this.#last = manifest;
    return this.#count;
  }
}

/** Reports whether a manifest still has all segments of an earlier one. */
function hasAllOf(before: RegionManifest, now: RegionManifest): boolean {
  if (before === now) return true;
  if (before.truncatedSequence !== now.truncatedSequence) return false;
  const paths = new Set(now.segments.map(({ path }) => path));
  return before.segments.every(({ path }) => paths.has(path));
}
