/** Reads ranges of a part of a file. */
export interface RangeReader {
  /** Returns `length` bytes from a position within the part. @throws `storage_unavailable` if the file is shorter. */
  read(position: number, length: number): Promise<Uint8Array>;
}
