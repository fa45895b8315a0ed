import { yieldToPage } from '../../core/yield.js';
import { orderValue, type CellValue, type SqlResult } from '../../data/sql-result.js';

/** What the values of a column are like. */
export interface ColumnFacts {
  readonly nullCount: number;
  /** Number of different values; undefined: more than are counted. */
  readonly distinctCount: number | undefined;
  /** Least and greatest value, without NaN; null if there is none, or if values have no order. */
  readonly least: CellValue;
  readonly greatest: CellValue;
  /** Numbers of values in intervals of the same width between least and greatest; empty if they are no numbers or times. */
  readonly bins: readonly number[];
}

/** Different values up to which they are counted. */
export const DISTINCT_MAX = 10_000;
const BIN_COUNT = 24;
const ROWS_AT_ONCE = 20_000;
/** A longer text is compared by its beginning. */
const TEXT_LENGTH_MAX = 1000;

/** Reads all values of a column, with pauses for the page. @throws the `AbortError` */
export async function columnFacts(
  rows: SqlResult,
  rowCount: number,
  column: number,
  signal: AbortSignal,
): Promise<ColumnFacts> {
  let nullCount = 0;
  const ends: { least?: ComparedCell; greatest?: ComparedCell } = {};
  const distinct = new Set<CellValue>();
  await eachValue(rows, rowCount, column, signal, (found) => {
    if (found === null) {
      nullCount++;
      return;
    }
    const order = comparable(orderValue(found, rows.columns[column]));
    if (distinct.size <= DISTINCT_MAX) distinct.add(order);
    if (typeof order === 'number' && Number.isNaN(order)) return;
    if (ends.least === undefined || order < ends.least.order) ends.least = { order, cell: found };
    if (ends.greatest === undefined || order > ends.greatest.order) ends.greatest = { order, cell: found };
  });
  const distinctCount = distinct.size > DISTINCT_MAX ? undefined : distinct.size;
  const bins = await binsOf(rows, rowCount, column, signal, [ends.least?.order, ends.greatest?.order]);
  const [least = null, greatest = null] = [ends.least, ends.greatest].map((end) => end && comparable(end.cell));
  return { nullCount, distinctCount, least, greatest, bins };
}

interface ComparedCell {
  readonly order: Comparable;
  readonly cell: Present;
}

type Present = Exclude<CellValue, null>;

type Comparable = number | bigint | string | boolean;

async function binsOf(
  rows: SqlResult,
  rowCount: number,
  column: number,
  signal: AbortSignal,
  [least, greatest]: readonly [Comparable | undefined, Comparable | undefined],
): Promise<readonly number[]> {
  if (!isNumber(least) || !isNumber(greatest) || least === greatest) return [];
  // Differences of integers and times are exact before they become doubles.
  const width = Number(typeof least === 'bigint' ? BigInt(greatest) - least : Number(greatest) - least);
  if (!Number.isFinite(width)) return [];
  const bins = new Array<number>(BIN_COUNT).fill(0);
  await eachValue(rows, rowCount, column, signal, (cell) => {
    const value = orderValue(cell, rows.columns[column]);
    if (!isNumber(value)) return;
    const from = typeof value === 'bigint' && typeof least === 'bigint' ? value - least : Number(value) - Number(least);
    const bin = Math.floor((Number(from) / width) * BIN_COUNT);
    if (bin >= 0) bins[Math.min(BIN_COUNT - 1, bin)]++;
  });
  return bins;
}

async function eachValue(
  rows: SqlResult,
  rowCount: number,
  column: number,
  signal: AbortSignal,
  take: (value: CellValue) => void,
): Promise<void> {
  for (let from = 0; from < rowCount; from += ROWS_AT_ONCE) {
    const end = Math.min(rowCount, from + ROWS_AT_ONCE);
    for (let row = from; row < end; row++) take(rows.value(column, row));
    await yieldToPage();
    signal.throwIfAborted();
  }
}

function isNumber(value: CellValue | undefined): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function comparable(value: Present): Comparable {
  if (typeof value === 'string') return value.slice(0, TEXT_LENGTH_MAX);
  if (!(value instanceof Uint8Array)) return value;
  return Array.from(value.subarray(0, TEXT_LENGTH_MAX), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
