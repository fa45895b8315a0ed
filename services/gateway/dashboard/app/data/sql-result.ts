import { DataType, TimeUnit, Type, type Field, type RecordBatch, type Vector } from 'apache-arrow';

import { civilOf, civilText } from '../time/civil.js';

/** What the cells of a column are: how they are aligned, sorted and drawn. */
export type CellKind = 'number' | 'integer' | 'text' | 'time' | 'boolean' | 'binary' | 'json';

/** A value of a cell: integers of 64 bits and times are exact. */
export type CellValue = number | bigint | string | boolean | Uint8Array | null;

/** A column of a result. */
export interface SqlColumn {
  readonly name: string;
  /** The SQL type, such as `TimestampMillisecond`. */
  readonly type: string;
  readonly kind: CellKind;
  /** Digits after the second, of times: 0, 3, 6 or 9. */
  readonly fractionDigits: number;
}

interface ResultBatch {
  /** Number of its first row. */
  readonly start: number;
  readonly batch: RecordBatch;
  readonly vectors: readonly (Vector | null)[];
}

/** The rows of a statement, by column, as they arrive. */
export class SqlResult {
  readonly columns: readonly SqlColumn[];
  #rowCount = 0;
  readonly #batches: ResultBatch[] = [];
  #last = 0;

  constructor(fields: readonly Field[]) {
    this.columns = fields.map(columnOf);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  append(batch: RecordBatch): void {
    if (batch.numRows === 0) return;
    // A batch makes a new object for a column whenever it is read.
    const vectors = this.columns.map((_, column) => batch.getChildAt(column));
    this.#batches.push({ start: this.#rowCount, batch, vectors });
    this.#rowCount += batch.numRows;
  }

  /** Returns a cell. @param row below `rowCount`. */
  value(column: number, row: number): CellValue {
    const { start, vectors } = this.#batchOf(row);
    const vector = vectors[column];
    return vector === null ? null : cellOf(vector, row - start, this.columns[column]);
  }

  /** Calls `each` with the cells of a column in order; times are numbers of milliseconds, other integers are rounded. */
  eachNumber(column: number, each: (value: number | null, row: number) => void): void {
    const { kind, fractionDigits } = this.columns[column];
    const divisor = kind === 'time' ? 10 ** (fractionDigits - 3) : 1;
    for (const { start, batch } of this.#batches) {
      const vector = batch.getChildAt(column);
      for (let i = 0; i < batch.numRows; i++) {
        const value = vector === null ? null : cellOf(vector, i, this.columns[column]);
        each(value === null ? null : Number(value) / divisor, start + i);
      }
    }
  }

  #batchOf(row: number): ResultBatch {
    // Rows are read in order, so it mostly is the batch of the last one.
    const last = this.#batches[this.#last];
    if (last !== undefined && row >= last.start && row < last.start + last.batch.numRows) return last;
    let [low, high] = [0, this.#batches.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#batches[middle].start <= row) low = middle;
      else high = middle - 1;
    }
    this.#last = low;
    return this.#batches[low];
  }
}

/** Returns the text of a cell, as it is shown and copied. @param zone in which times are shown. */
export function cellText(value: CellValue, column: SqlColumn, zone: string): string {
  if (value === null) return 'NULL';
  if (value instanceof Uint8Array) return hexOf(value);
  if (column.kind === 'time' && typeof value === 'bigint') return timeText(value, column, zone);
  if (typeof value === 'number') return Number.isFinite(value) ? numberText(value) : specialText(value);
  return String(value);
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

function specialText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

/** Returns a time with all digits of its unit. */
function timeText(value: bigint, { fractionDigits, type }: SqlColumn, zone: string): string {
  const perSecond = 10n ** BigInt(fractionDigits);
  const fraction = ((value % perSecond) + perSecond) % perSecond;
  const seconds = Number((value - fraction) / perSecond);
  if (Math.abs(seconds) > 8_640_000_000_000) return String(value);
  const civil = civilText(civilOf(seconds * 1000, type === 'Date' ? 'UTC' : zone));
  if (type === 'Date') return civil.slice(0, 10);
  return fractionDigits === 0 ? civil : `${civil}.${String(fraction).padStart(fractionDigits, '0')}`;
}

function hexOf(bytes: Uint8Array): string {
  const shown = bytes.subarray(0, 512);
  const hex = Array.from(shown, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return shown.length < bytes.length ? `${hex}…` : hex;
}

function columnOf(field: Field): SqlColumn {
  const type = field.metadata.get('type') ?? typeName(field.type as DataType);
  return {
    name: field.name,
    type,
    kind: kindOf(field.type as DataType, type),
    fractionDigits: digitsOf(field.type as DataType),
  };
}

function kindOf(type: DataType, name: string): CellKind {
  if (DataType.isTimestamp(type) || DataType.isDate(type)) return 'time';
  if (DataType.isInt(type)) return 'integer';
  if (DataType.isFloat(type) || DataType.isDecimal(type)) return 'number';
  if (DataType.isBool(type)) return 'boolean';
  if (DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isFixedSizeBinary(type)) return 'binary';
  return /json|list|struct|map/i.test(name) ? 'json' : 'text';
}

function digitsOf(type: DataType): number {
  if (!DataType.isTimestamp(type)) return 0;
  switch (type.unit) {
    case TimeUnit.SECOND:
      return 0;
    case TimeUnit.MILLISECOND:
      return 3;
    case TimeUnit.MICROSECOND:
      return 6;
    default:
      return 9;
  }
}

/** Returns the name that the server gives a type in its other formats. */
function typeName(type: DataType): string {
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return 'String';
  if (DataType.isTimestamp(type)) {
    return `Timestamp${['Second', 'Millisecond', 'Microsecond', 'Nanosecond'][type.unit]}`;
  }
  if (DataType.isDate(type)) return 'Date';
  if (DataType.isInt(type)) return `${type.isSigned ? 'Int' : 'UInt'}${type.bitWidth}`;
  if (DataType.isFloat(type)) return `Float${16 << type.precision}`;
  if (DataType.isBool(type)) return 'Boolean';
  if (DataType.isBinary(type)) return 'Binary';
  return Type[type.typeId];
}

function cellOf(vector: Vector, row: number, { kind, type }: SqlColumn): CellValue {
  if (!vector.isValid(row)) return null;
  if (kind === 'time') {
    // The library's own accessors round times to milliseconds.
    const [data] = vector.data;
    const raw = (data.values as BigInt64Array | Int32Array)[row];
    if (typeof raw === 'bigint') return type === 'Date' ? raw / 1000n : raw;
    return BigInt(raw) * 86_400n;
  }
  const value: unknown = vector.get(row);
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  if (typeof value === 'string' || value instanceof Uint8Array) return value;
  // Decimals.
  return value === null || value === undefined ? null : (value as { toString(): string }).toString();
}
