import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import { sequenceOfPath } from '#shared/segments/segment-name';

/** An impossible statement of a manifest, and the file that it is about. */
export interface ManifestFault {
  readonly path: string;
  readonly what: string;
}

/** Finds contradictions within a region's manifest, without reading files. */
export function manifestFaults(manifest: RegionManifest, table: Pick<Table, 'schemaVersion'>): ManifestFault[] {
  return [
    ...seriesFaults(manifest),
    ...sequenceFaults(manifest),
    ...manifest.segments.flatMap((segment) => ownFaults(segment, table)),
  ];
}

/** Finds impossible values of one segment. */
function ownFaults(segment: Segment, table: Pick<Table, 'schemaVersion'>): ManifestFault[] {
  const { path, timeFirst, timeLast, hasLate, lateFirst, lateLast, schemaVersion } = segment;
  const faults: string[] = [];
  const times = `has the times ${timeFirst} to ${timeLast}`;
  if (timeFirst > timeLast) faults.push(`${times}, which are none`);
  // Only times of the segment itself can be out of order.
  else if (hasLate && (lateFirst > lateLast || lateFirst < timeFirst || lateLast > timeLast)) {
    faults.push(`${times}, of which ${lateFirst} to ${lateLast} cannot be the out-of-order ones`);
  }
  if (schemaVersion > table.schemaVersion) {
    faults.push(`has version ${schemaVersion} of the columns, the last one is ${table.schemaVersion}`);
  }
  return faults.map((what) => ({ path, what }));
}

/** Series are numbered without gaps from 0, and every row belongs to a defined series. */
function seriesFaults({ seriesFiles, segments }: RegionManifest): ManifestFault[] {
  const faults: ManifestFault[] = [];
  let next = 0;
  for (const { path, sidFirst, sidLast } of seriesFiles) {
    if (sidFirst !== next) faults.push({ path, what: `begins at series ${sidFirst} where ${next} is the next` });
    next = sidLast + 1;
  }
  for (const { path, sidLast } of segments) {
    if (sidLast >= next) {
      faults.push({ path, what: `has rows of series ${sidLast}, the last one defined is ${next - 1}` });
    }
  }
  return faults;
}

/** Rows in segments are below the watermark, and after the last truncation. */
function sequenceFaults({ segments, watermark, truncatedSequence }: RegionManifest): ManifestFault[] {
  const faults: ManifestFault[] = [];
  for (const { path, sequenceFrom, sequenceTo } of segments) {
    const range = `has the rows ${sequenceFrom} to ${sequenceTo}`;
    if (sequenceFrom >= sequenceTo) faults.push({ path, what: `${range}, which are none` });
    const named = sequenceOfPath(path);
    if (named !== undefined && named !== sequenceFrom) {
      faults.push({ path, what: `${range}, its name says that they begin at ${named}` });
    }
    if (sequenceTo > watermark) faults.push({ path, what: `${range}, the region is flushed up to ${watermark}` });
    if (sequenceFrom < truncatedSequence) {
      faults.push({ path, what: `${range}, the region is truncated up to ${truncatedSequence}` });
    }
  }
  return faults;
}
