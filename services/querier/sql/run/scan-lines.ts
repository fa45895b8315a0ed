import type { Segment, Table } from '#shared/contracts/gen/common';

import type { SegmentRead, TableRead } from '../../snapshot/binding.js';

/**
 * Describes what a query reads of a table: the number of segments, why others are skipped, which of them need their versions
 * merged, and the number of rows in memory.
 *
 * @param isVerbose whether each segment has a line of its own.
 */
export function scanLines({ database, name }: Table, read: TableRead, isVerbose: boolean): string[] {
  const { segments, segmentCount, outsideTime, withoutSeries, withoutTerms, freshRows, mergedFreshRows } = read;
  const merged = segments.filter(({ isMerged }) => isMerged);
  const { rows, bytes } = sizeInSegments(read);
  const isByTerms = withoutTerms > 0 || segments.some(({ selectedRows }) => selectedRows !== undefined);
  const byTerms = isByTerms ? `, ${withoutTerms} by terms` : '';
  return [
    `scan ${database}.${name}: ${segments.length} of ${segmentCount} segments`,
    `  pruned: ${outsideTime} by time, ${withoutSeries} by series${byTerms}`,
    `  merged: ${merged.length} segments, ${mergedFreshRows} rows in memory`,
    `  reads: ${rows} rows, ${bytes} bytes in segments; ${freshRows} rows in memory`,
    ...(isVerbose ? segments.map(segmentLine) : []),
  ];
}

/** Returns the number of rows that are read of segments, and the size of these segments in bytes. */
function sizeInSegments({ segments }: TableRead): { readonly rows: number; readonly bytes: number } {
  return {
    rows: segments.reduce((sum, { segment, selectedRows }) => sum + (selectedRows ?? segment.rowCount), 0),
    bytes: segments.reduce((sum, { segment }) => sum + segment.bytes, 0),
  };
}

/** Returns the number of rows that a query reads of its tables, and the size of their segments in bytes. */
export function sizeOf(reads: readonly TableRead[]): { readonly rows: number; readonly bytes: number } {
  const sizes = reads.map(sizeInSegments);
  return {
    rows: sizes.reduce((sum, { rows }) => sum + rows, 0) + reads.reduce((sum, { freshRows }) => sum + freshRows, 0),
    bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function segmentLine({ segment, isMerged }: SegmentRead): string {
  const { rowCount, bytes, timeFirst, timeLast, hasOps } = segment;
  const words = [isMerged ? 'merged' : 'plain', ...(hasOps ? ['with deletions'] : [])].join(', ');
  return `  segment ${nameOf(segment)}: ${words}; ${rowCount} rows, ${bytes} bytes, time ${timeFirst} to ${timeLast}`;
}

/** Returns the name without the folders of its region. */
function nameOf({ path }: Segment): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
