import { civilOf, civilText } from '../time/civil.js';

/** What the cells of a column are: how they are aligned, sorted and drawn. */
export type CellKind = 'number' | 'integer' | 'text' | 'time' | 'boolean' | 'binary' | 'json';

/** A value of a cell: integers of 64 bits and times are exact; decimals are texts. */
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

/** Returns a cell of a column of a batch. @param row of the batch, from 0. */
export type CellReader = (row: number) => CellValue;

interface ResultBatch {
  /** Number of its first row. */
  readonly start: number;
  readonly rowCount: number;
  readonly readers: readonly CellReader[];
}

/** The rows of a statement, by column, as they arrive. */
export class SqlResult {
  readonly columns: readonly SqlColumn[];
  #rowCount = 0;
  readonly #batches: ResultBatch[] = [];
  #last = 0;

  constructor(columns: readonly SqlColumn[]) {
    this.columns = columns;
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Adds rows. @param rowCount at least 1. @param readers of each column. */
  append(rowCount: number, readers: readonly CellReader[]): void {
    this.#batches.push({ start: this.#rowCount, rowCount, readers });
    this.#rowCount += rowCount;
  }

  /** Returns a cell. @param row below `rowCount`. */
  value(column: number, row: number): CellValue {
    const { start, readers } = this.#batchOf(row);
    return readers[column](row - start);
  }

  /** Calls `each` with the cells of a column in order; times are numbers of milliseconds, other integers are rounded. */
  eachNumber(column: number, each: (value: number | null, row: number) => void): void {
    const { kind, fractionDigits } = this.columns[column];
    const divisor = kind === 'time' ? 10 ** (fractionDigits - 3) : 1;
    for (const { start, rowCount, readers } of this.#batches) {
      for (let i = 0; i < rowCount; i++) {
        const value = readers[column](i);
        each(value === null ? null : Number(value) / divisor, start + i);
      }
    }
  }

  #batchOf(row: number): ResultBatch {
    // Rows are read in order, so it mostly is the batch of the last one.
    const last = this.#batches[this.#last];
    if (last !== undefined && row >= last.start && row < last.start + last.rowCount) return last;
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

/** Returns what a cell is ordered by: a decimal, whose text has all digits of its scale, by its unscaled number. */
export function orderValue<T extends CellValue>(value: T, { kind }: SqlColumn): T | bigint {
  return kind === 'number' && typeof value === 'string' ? BigInt(value.replace('.', '')) : value;
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
