import type { RegionManifest } from '#shared/contracts/gen/common';

/** A statement of a manifest that cannot be true, and the file that it is about. */
export interface ManifestFault {
  readonly path: string;
  readonly what: string;
}

/** What of a region's manifest contradicts itself; the files are not looked at. */
export function manifestFaults(manifest: RegionManifest): ManifestFault[] {
  return [...seriesFaults(manifest), ...sequenceFaults(manifest)];
}

/** Series have numbers without gaps from 0, and rows only of series that are defined. */
function seriesFaults({ seriesFiles, segments }: RegionManifest): ManifestFault[] {
  const faults: ManifestFault[] = [];
  let next = 0;
  for (const { path, sidFirst, sidLast } of seriesFiles) {
    if (sidFirst !== next) faults.push({ path, what: `begins at series ${sidFirst} where ${next} is the next` });
    next = sidLast + 1;
  }
  for (const { path, sidLast } of segments) {
    if (sidLast >= next)
      faults.push({ path, what: `has rows of series ${sidLast}, the last one defined is ${next - 1}` });
  }
  return faults;
}

/** Rows that are in segments are below the watermark, and behind the last truncation. */
function sequenceFaults({ segments, watermark, truncatedSequence }: RegionManifest): ManifestFault[] {
  const faults: ManifestFault[] = [];
  for (const { path, sequenceFrom, sequenceTo } of segments) {
    const range = `has the rows ${sequenceFrom} to ${sequenceTo}`;
    if (sequenceFrom >= sequenceTo) faults.push({ path, what: `${range}, which are none` });
    if (sequenceTo > watermark) faults.push({ path, what: `${range}, the region is flushed up to ${watermark}` });
    if (sequenceFrom < truncatedSequence) {
      faults.push({ path, what: `${range}, the region is truncated up to ${truncatedSequence}` });
    }
  }
  return faults;
}
