/**
 * Bytes of one log record (docs/formats/wal.md). Integers are little-endian; the length is a multiple of 8, so that
 * the Arrow bytes of every record of a file are aligned and decode without a copy.
 *
 *   0  u32 length of the whole record
 *   4  u32 CRC32C of all that follows
 *   8  16 bytes batch id
 *  24  u32 table id
 *  28  u32 region id
 *  32  u32 epoch
 *  36  u32 schema version
 *  40  u64 sequence before the first row
 *  48  u32 row count
 *  52  u32 first sid of the definitions
 *  56  u32 bytes of the definitions
 *  60  u32 bytes of the Arrow stream
 *  64  u32 place in the file where the group of records begins that was written and synced together
 *  68  u32 0
 *  72  definitions, padded to 8
 *   .  Arrow stream, a multiple of 8
 */
import { crc32c } from '#shared/bytes/crc32c';
import { padded } from '#shared/bytes/padded';
import { invariant } from '#shared/errors/invariant';

/** Bytes of a record before its definitions. */
export const RECORD_HEADER_BYTES = 72;
/** A length above this means a damaged record: request bodies are far smaller. */
export const RECORD_BYTES_MAX = 1 << 30;

/** Header of a record without the fields that are derived. */
export interface RecordHeader {
  readonly batchId: Uint8Array;
  readonly tableId: number;
  readonly regionId: number;
  readonly epoch: number;
  readonly schemaVersion: number;
  /** The rows are those after this sequence. */
  readonly sequenceFrom: bigint;
  readonly rowCount: number;
  readonly firstSid: number;
}

/** A record as it was read from the log. */
export interface LogRecord extends RecordHeader {
  readonly groupStart: number;
  readonly definitions: Uint8Array;
  /** A view of the log's bytes, aligned to 8. */
  readonly batch: Uint8Array;
}

/**
 * Returns the record as parts to be written one after the other, without copying the Arrow bytes. Complete them with
 * `sealRecord`.
 */
export function encodeRecord(header: RecordHeader, definitions: Uint8Array, batch: Uint8Array): Uint8Array[] {
  invariant(batch.length % 8 === 0, 'wal record: batch is not padded');
  const definitionBytes = padded(definitions.length);
  const head = new Uint8Array(RECORD_HEADER_BYTES + definitionBytes);
  const view = new DataView(head.buffer);
  view.setUint32(0, head.length + batch.length, true);
  head.set(header.batchId, 8);
  view.setUint32(24, header.tableId, true);
  view.setUint32(28, header.regionId, true);
  view.setUint32(32, header.epoch, true);
  view.setUint32(36, header.schemaVersion, true);
  view.setBigUint64(40, header.sequenceFrom, true);
  view.setUint32(48, header.rowCount, true);
  view.setUint32(52, header.firstSid, true);
  view.setUint32(56, definitions.length, true);
  view.setUint32(60, batch.length, true);
  head.set(definitions, RECORD_HEADER_BYTES);
  return [head, batch];
}

/** Returns the size of a record in the log. */
export function recordBytes({ definitions, batch }: Pick<LogRecord, 'definitions' | 'batch'>): number {
  return RECORD_HEADER_BYTES + padded(definitions.length) + batch.length;
}

/** Completes the parts of `encodeRecord` with the checksum and the offset at which their group of records starts. */
export function sealRecord(parts: readonly Uint8Array[], groupAt: number): void {
  const [head, batch] = parts;
  const view = new DataView(head.buffer);
  view.setUint32(64, groupAt, true);
  view.setUint32(4, crc32c(batch, crc32c(head.subarray(8))), true);
}

/** Result of decoding at an offset of the log. */
export type DecodedRecord =
  | { readonly kind: 'record'; readonly length: number; readonly record: LogRecord }
  /** The bytes end before the record does. */
  | { readonly kind: 'short'; readonly length: number }
  /** The length is impossible, or the checksum does not match; `length` is 0 if it cannot be trusted. */
  | { readonly kind: 'damaged'; readonly length: number };

/**
 * Decodes the record at `at`.
 * @param bytes aligned to 8, as `at` is.
 */
export function decodeRecord(bytes: Uint8Array, at: number): DecodedRecord {
  const rest = bytes.length - at;
  if (rest < 8) return { kind: 'short', length: RECORD_HEADER_BYTES };
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, Math.min(rest, RECORD_HEADER_BYTES));
  const length = view.getUint32(0, true);
  if (length < RECORD_HEADER_BYTES || length > RECORD_BYTES_MAX || length % 8 !== 0) {
    return { kind: 'damaged', length: 0 };
  }
  if (rest < length) return { kind: 'short', length };
  const definitionBytes = view.getUint32(56, true);
  const batchBytes = view.getUint32(60, true);
  const batchAt = at + RECORD_HEADER_BYTES + padded(definitionBytes);
  // Checked first: the search after a torn record tries every offset, and checksums of what only looks like a length
  // would take hours.
  if (batchAt + batchBytes !== at + length) return { kind: 'damaged', length };
  if (view.getUint32(4, true) !== crc32c(bytes.subarray(at + 8, at + length))) return { kind: 'damaged', length };
  const record: LogRecord = {
    batchId: bytes.slice(at + 8, at + 24),
    tableId: view.getUint32(24, true),
    regionId: view.getUint32(28, true),
    epoch: view.getUint32(32, true),
    schemaVersion: view.getUint32(36, true),
    sequenceFrom: view.getBigUint64(40, true),
    rowCount: view.getUint32(48, true),
    firstSid: view.getUint32(52, true),
    groupStart: view.getUint32(64, true),
    definitions: bytes.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + definitionBytes),
    batch: bytes.subarray(batchAt, at + length),
  };
  return { kind: 'record', length, record };
}
