import { scaledId } from '#shared/duckdb/scaled-columns';

import { CompactReader, TYPE, UnknownLayout } from '#shared/parquet/compact-protocol';

/** Physical types of Parquet that are read here. */
export type PhysicalType = 'boolean' | 'int32' | 'int64' | 'float' | 'double';

/** By the number of the type in the footer. Others are left to the engine. */
const PHYSICAL: Readonly<Record<number, PhysicalType>> = {
  0: 'boolean',
  1: 'int32',
  2: 'int64',
  4: 'float',
  5: 'double',
};

/** What the values of a column mean. Decimals, days and times of day are stored as integers too. */
export type LogicalType = 'number' | 'millis' | 'micros' | 'nanos' | 'other';

/** Logical types of integers without a sign, by their number in the footer. */
const UNSIGNED = new Set([11, 12, 13, 14]);
/** Those of all integers. */
const INTEGERS = new Set([...UNSIGNED, 15, 16, 17, 18]);
const TIMESTAMPS: Readonly<Record<number, LogicalType>> = { 9: 'millis', 10: 'micros' };
/** Only the newer kind of logical type has nanoseconds: by the number of the unit. */
const UNITS: Readonly<Record<number, LogicalType>> = { 1: 'millis', 2: 'micros', 3: 'nanos' };
const LOGICAL_TIMESTAMP = 8;
const LOGICAL_INTEGER = 10;
const ZSTD = 6;
const OPTIONAL = 1;
const REQUIRED = 0;

/** The chunks of a column, one in each row group. */
export interface ColumnChunks {
  readonly type: PhysicalType;
  readonly logicalType: LogicalType;
  readonly isUnsigned: boolean;
  /** Whether rows may be null, and pages have definition levels. */
  readonly isOptional: boolean;
  /** Position of the first page in the file, by row group. */
  readonly offsets: Float64Array;
  /** Length of all pages, by row group. */
  readonly lengths: Float64Array;
  /** Numbers of rows that have no value, neither in this column nor in its scaled one; -1: unknown. */
  readonly nullCounts: Int32Array;
  /** Numbers of rows that are null in this column alone; -1: unknown. */
  readonly storedNulls: Int32Array;
  /** Least and greatest values by row group, of integers only; 0 for a group of nulls. */
  readonly min: BigInt64Array | undefined;
  readonly max: BigInt64Array | undefined;
}

/** What the footer of a segment says. */
export interface SegmentFooter {
  /** Numbers of rows by row group. */
  readonly rowCounts: Int32Array;
  /** Columns that can be read here, by field ID. */
  readonly columns: ReadonlyMap<number, ColumnChunks>;
  /** Field IDs of the other columns. */
  readonly otherIds: ReadonlySet<number>;
  /** Field IDs of those of the other columns that have no value in any row. */
  readonly emptyIds: ReadonlySet<number>;
  /** Estimated memory in bytes. */
  readonly bytes: number;
}

/** A column while the footer is read; its chunks follow in each row group. */
interface ColumnDraft {
  readonly id: number;
  readonly type: PhysicalType | undefined;
  readonly logicalType: LogicalType;
  readonly isUnsigned: boolean;
  readonly isOptional: boolean;
  isReadable: boolean;
}

/**
 * Reads the metadata of a Parquet file.
 *
 * @param bytes of the footer, without its length and the magic number
 * @throws `UnknownLayout` for what segments do not have, such as nested columns.
 */
export function parseFooter(bytes: Uint8Array): SegmentFooter {
  const reader = new CompactReader(bytes);
  let drafts: ColumnDraft[] | undefined;
  let groups: GroupChunks[] | undefined;
  reader.struct((id, type) => {
    if (id === 2 && type === TYPE.list) drafts = readSchema(reader);
    else if (id === 4 && type === TYPE.list) {
      const columns = drafts ?? [];
      groups = Array.from({ length: reader.list().count }, () => readGroup(reader, columns));
    } else return false;
    return true;
  });
  if (drafts === undefined || groups === undefined) throw new UnknownLayout('footer without columns');
  return footerOf(drafts, groups);
}

function readSchema(reader: CompactReader): ColumnDraft[] {
  const drafts: ColumnDraft[] = [];
  const { count } = reader.list();
  for (let i = 0; i < count; i++) {
    let [physical, repetition, converted, fieldId, childCount] = [-1, REQUIRED, -1, -1, 0];
    let logical: LogicalType | undefined;
    reader.struct((id, type) => {
      if (id === 1) physical = reader.number();
      else if (id === 3) repetition = reader.number();
      else if (id === 5) childCount = reader.number();
      else if (id === 6) converted = reader.number();
      else if (id === 9) fieldId = reader.number();
      else if (id === 10 && type === TYPE.struct) logical = readLogicalType(reader);
      else return false;
      return true;
    });
    // The first element is the root.
    if (i === 0) continue;
    if (childCount > 0 || repetition > OPTIONAL) throw new UnknownLayout('nested column');
    const type = Object.hasOwn(PHYSICAL, physical) ? PHYSICAL[physical] : undefined;
    drafts.push({
      ...{ id: fieldId, type, isUnsigned: UNSIGNED.has(converted), isOptional: repetition === OPTIONAL },
      logicalType: logical ?? logicalTypeOf(converted),
      isReadable: type !== undefined,
    });
  }
  return drafts;
}

function logicalTypeOf(converted: number): LogicalType {
  if (converted === -1 || INTEGERS.has(converted)) return 'number';
  return Object.hasOwn(TIMESTAMPS, converted) ? TIMESTAMPS[converted] : 'other';
}

/** Reads a union of which each member is a structure. */
function readLogicalType(reader: CompactReader): LogicalType {
  let found: LogicalType = 'other';
  reader.struct((id, type) => {
    if (id === LOGICAL_INTEGER) found = 'number';
    if (id !== LOGICAL_TIMESTAMP || type !== TYPE.struct) return false;
    reader.struct((field, fieldType) => {
      if (field !== 2 || fieldType !== TYPE.struct) return false;
      reader.struct((unit) => {
        found = Object.hasOwn(UNITS, unit) ? UNITS[unit] : 'other';
        return false;
      });
      return true;
    });
    return true;
  });
  return found;
}

/** The chunks of a row group. */
interface GroupChunks {
  rowCount: number;
  readonly chunks: readonly Chunk[];
}

interface Chunk {
  codec: number;
  valueCount: number;
  offset: number;
  length: number;
  nullCount: number;
  min: bigint | undefined;
  max: bigint | undefined;
  isElsewhere: boolean;
}

function readGroup(reader: CompactReader, columns: readonly ColumnDraft[]): GroupChunks {
  let chunks: Chunk[] = [];
  let rowCount = 0;
  reader.struct((id, type) => {
    if (id === 1 && type === TYPE.list) {
      if (reader.list().count !== columns.length) throw new UnknownLayout('row group without some columns');
      chunks = columns.map((column) => readChunk(reader, column));
    } else if (id === 3) rowCount = reader.number();
    else return false;
    return true;
  });
  if (chunks.length !== columns.length) throw new UnknownLayout('row group without columns');
  if (rowCount < 0 || rowCount > 0x7fffffff) throw new UnknownLayout('row group with too many rows');
  return { rowCount, chunks };
}

function readChunk(reader: CompactReader, column: ColumnDraft): Chunk {
  // No spread: V8 would make a new shape for each chunk.
  const chunk: Chunk = {
    codec: -1,
    valueCount: 0,
    offset: 0,
    length: 0,
    nullCount: -1,
    min: undefined,
    max: undefined,
    isElsewhere: false,
  };
  reader.struct((id, type) => {
    if (id === 3 && type === TYPE.struct) readChunkData(reader, column, chunk);
    else if (id === 1) {
      chunk.isElsewhere = true;
      return false;
    } else return false;
    return true;
  });
  return chunk;
}

function readChunkData(reader: CompactReader, column: ColumnDraft, chunk: Chunk): void {
  let hasDictionary = false;
  reader.struct((id, type) => {
    if (id === 4) chunk.codec = reader.number();
    else if (id === 5) chunk.valueCount = reader.number();
    else if (id === 7) chunk.length = reader.number();
    else if (id === 9) chunk.offset = reader.number();
    else if (id === 11) hasDictionary = reader.number() > 0;
    else if (id === 12 && type === TYPE.struct) readStatistics(reader, column, chunk);
    else return false;
    return true;
  });
  if (hasDictionary) column.isReadable = false;
}

function readStatistics(reader: CompactReader, column: ColumnDraft, chunk: Chunk): void {
  reader.struct((id) => {
    if (id === 3) chunk.nullCount = reader.number();
    else if (id === 5) chunk.max = integerOf(reader.binary(), column);
    else if (id === 6) chunk.min = integerOf(reader.binary(), column);
    else return false;
    return true;
  });
}

/** Returns a value of the statistics; undefined if it is no integer, or does not fit 64 bits with a sign. */
function integerOf(bytes: Uint8Array, { type, isUnsigned }: ColumnDraft): bigint | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (type === 'int32' && bytes.length === 4) {
    return BigInt(isUnsigned ? view.getUint32(0, true) : view.getInt32(0, true));
  }
  if (type !== 'int64' || bytes.length !== 8) return undefined;
  const value = view.getBigInt64(0, true);
  return isUnsigned && value < 0n ? undefined : value;
}

/** Memory of a footer without its arrays. */
const BYTES_PER_FOOTER = 1000;
const BYTES_PER_COLUMN = 500;

function footerOf(drafts: readonly ColumnDraft[], groups: readonly GroupChunks[]): SegmentFooter {
  const columns = new Map<number, ColumnChunks>();
  const otherIds = new Set<number>();
  const emptyIds = new Set<number>();
  let bytes = BYTES_PER_FOOTER + groups.length * 4;
  for (const [i, { id, type, logicalType, isUnsigned, isOptional, isReadable }] of drafts.entries()) {
    if (id === -1) continue;
    const chunks = groups.map((group) => group.chunks[i]);
    const isKnown = chunks.every(({ codec, valueCount, isElsewhere }, group) => {
      return codec === ZSTD && valueCount === groups[group].rowCount && !isElsewhere;
    });
    if (type === undefined || !isReadable || !isKnown) {
      otherIds.add(id);
      if (chunks.every(({ nullCount }, group) => nullCount === groups[group].rowCount)) emptyIds.add(id);
      continue;
    }
    const isInteger = type === 'int32' || type === 'int64';
    const hasEnds = chunks.every(({ min, max, nullCount, valueCount }) => {
      return isInteger && ((min !== undefined && max !== undefined) || nullCount === valueCount);
    });
    const storedNulls = Int32Array.from(chunks, ({ nullCount }) => nullCount);
    columns.set(id, {
      ...{ type, logicalType, isUnsigned, isOptional },
      offsets: Float64Array.from(chunks, ({ offset }) => offset),
      lengths: Float64Array.from(chunks, ({ length }) => length),
      ...{ nullCounts: storedNulls, storedNulls },
      min: hasEnds ? BigInt64Array.from(chunks, ({ min }) => min ?? 0n) : undefined,
      max: hasEnds ? BigInt64Array.from(chunks, ({ max }) => max ?? 0n) : undefined,
    });
    bytes += BYTES_PER_COLUMN + groups.length * (hasEnds ? 36 : 20);
  }
  const rowCounts = Int32Array.from(groups, ({ rowCount }) => rowCount);
  for (const [id, column] of columns) {
    const scaled = columns.get(scaledId(id));
    if (scaled !== undefined) columns.set(id, { ...column, nullCounts: commonNulls(column, scaled, rowCounts) });
    else if (otherIds.has(scaledId(id))) columns.set(id, { ...column, nullCounts: rowCounts.map(() => -1) });
  }
  return { rowCounts, columns, otherIds, emptyIds, bytes };
}

/** Returns the numbers of rows that are null in both columns, of which no row has a value in both. */
function commonNulls(plain: ColumnChunks, scaled: ColumnChunks, rowCounts: Int32Array): Int32Array {
  return rowCounts.map((rowCount, group) => {
    const [one, other] = [plain.storedNulls[group], scaled.storedNulls[group]];
    return one < 0 || other < 0 ? -1 : one + other - rowCount;
  });
}
