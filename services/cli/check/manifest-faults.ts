import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import { sequenceOfPath } from '#shared/segments/segment-name';

/** A statement of a manifest that cannot be true, and the file that it is about. */
export interface ManifestFault {
  readonly path: string;
  readonly what: string;
}

/** What of a region's manifest contradicts itself; the files are not looked at. */
export function manifestFaults(manifest: RegionManifest, table: Pick<Table, 'schemaVersion'>): ManifestFault[] {
  return [
    ...seriesFaults(manifest),
    ...sequenceFaults(manifest),
    ...manifest.segments.flatMap((segment) => ownFaults(segment, table)),
  ];
}

/** What a segment cannot be, whatever others there are. */
function ownFaults(segment: Segment, table: Pick<Table, 'schemaVersion'>): ManifestFault[] {
  const { path, timeFirst, timeLast, hasLate, lateFirst, lateLast, schemaVersion } = segment;
  const faults: string[] = [];
  const times = `has the times ${timeFirst} to ${timeLast}`;
  if (timeFirst > timeLast) faults.push(`${times}, which are none`);
  // Only times of its own are noted as late.
  else if (hasLate && (lateFirst > lateLast || lateFirst < timeFirst || lateLast > timeLast)) {
    faults.push(`${times}, of which ${lateFirst} to ${lateLast} cannot be those that came late`);
  }
  if (schemaVersion > table.schemaVersion) {
    faults.push(`has version ${schemaVersion} of the columns, the last one is ${table.schemaVersion}`);
  }
  return faults.map((what) => ({ path, what }));
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
    if (sidLast >= next) {
      faults.push({ path, what: `has rows of series ${sidLast}, the last one defined is ${next - 1}` });
    }
  }
  return faults;
}

/** Rows that are in segments are below the watermark, and behind the last truncation. */
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
