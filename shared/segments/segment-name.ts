/** Returns the folder of a region's files in the segment store. */
export function regionFolder(databaseId: number, tableId: number, regionId: number): string {
  return `${databaseId}/${tableId}/${regionId}`;
}

/**
 * Returns the path of a new segment. Paths are never reused: the sequence before its rows is unique, and `unique`
 * distinguishes attempts.
 *
 * @param unique lower-case letters and digits.
 */
export function segmentPath(folder: string, sequenceFrom: bigint, part: number, unique: string): string {
  return `${folder}/${hex(sequenceFrom)}-${String(part).padStart(3, '0')}-${unique}.parquet`;
}

/** Extracts the sequence before a segment's rows from its path; undefined if it has none. */
export function sequenceOfPath(path: string): bigint | undefined {
  const digits = /\/([0-9a-f]{16})-[^/]+$/.exec(path)?.[1];
  return digits === undefined ? undefined : BigInt(`0x${digits}`);
}

/** Returns the path of a new file of series definitions. */
export function seriesPath(folder: string, firstSid: number, unique: string): string {
  return `${folder}/series-${String(firstSid).padStart(10, '0')}-${unique}.parquet`;
}

function hex(sequence: bigint): string {
  return sequence.toString(16).padStart(16, '0');
}
