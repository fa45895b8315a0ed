import { NotForKernels, type ResultOrder, type ResultOrdering } from '../query.js';

/** Rows that are sorted at once, which takes some 20 ms. */
const SORTED_MAX = 1 << 16;

/** A value by which rows are sorted. */
export type SortValue = string | number | bigint | boolean | null;

/** What rows are sorted by: a value for each row, or a number below `count` for each row. */
export type SortKey =
  | { readonly value: (row: number) => SortValue }
  | {
      readonly numberOf: (row: number) => number;
      readonly count: number;
      /** Returns the value of a number; undefined: numbers are in the order of the values. */
      readonly valueAt?: (number: number) => SortValue;
    };

/** Returns a key for positions in an array of rows instead of the rows. */
export function ofRows(key: SortKey, rows: readonly number[]): SortKey {
  if ('value' in key) return { value: (i) => key.value(rows[i]) };
  return { ...key, numberOf: (i) => key.numberOf(rows[i]) };
}

/**
 * Sorts and cuts rows.
 *
 * @param keyOf returns what a member of ORDER BY sorts by.
 * @throws `NotForKernels` if there are too many to sort.
 */
export function orderedRows(
  rows: readonly number[],
  { order, offset, limit }: ResultOrdering,
  keyOf: (order: ResultOrder) => SortKey,
): number[] {
  if (order.length === 0 || rows.length < 2) return rows.slice(offset, offset + limit);
  if (rows.length > SORTED_MAX) throw new NotForKernels('the result has too many rows to sort');
  if (order.length === 1 && isSorted(rows, order[0], keyOf(order[0]))) return rows.slice(offset, offset + limit);
  let sorted = wordsOf(rows, (_, i) => i);
  // By the last key first: rows that are equal in a key keep the order of those after it.
  for (const each of order.toReversed()) sorted = sortedBy(ranksOf(rows, keyOf(each), each), sorted);
  const found: number[] = [];
  for (let i = offset; i < Math.min(offset + limit, sorted.length); i++) found.push(rows[sorted[i]]);
  return found;
}

/** Returns a number for each item. `Uint32Array.from` takes ten times as long. */
export function wordsOf<T>(items: readonly T[], wordOf: (item: T, i: number) => number): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(items.length);
  for (let i = 0; i < items.length; i++) words[i] = wordOf(items[i], i);
  return words;
}

/** Reports whether rows are in the order of a column of numbers, as groups by time are. */
function isSorted(rows: readonly number[], { isDescending }: ResultOrder, key: SortKey): boolean {
  const valueOf = valuesOf(key);
  let before = isDescending ? Infinity : -Infinity;
  for (const row of rows) {
    const value = valueOf(row);
    // A comparison with NaN is false.
    if (typeof value !== 'number' || !(isDescending ? value <= before : value >= before)) return false;
    before = value;
  }
  return true;
}

/** Numbers in the order of values, one for each row. */
interface Ranks {
  readonly ofRows: Uint32Array;
  /** All are less. */
  readonly count: number;
}

/** Returns how to read the values of rows. */
function valuesOf(key: SortKey): (row: number) => SortValue {
  if ('value' in key) return key.value;
  const { numberOf, valueAt } = key;
  return valueAt === undefined ? numberOf : (row) => valueAt(numberOf(row));
}

function ranksOf(rows: readonly number[], key: SortKey, order: ResultOrder): Ranks {
  // A few rows of many numbers are sorted without an array of these.
  if ('value' in key || key.count > 4 * rows.length) return ranksOfValues(rows.map(valuesOf(key)), order);
  const { numberOf, valueAt, count } = key;
  if (valueAt !== undefined) {
    const ofNumbers = ranksOfValues(
      Array.from({ length: count }, (_, number) => valueAt(number)),
      order,
    );
    return { ofRows: wordsOf(rows, (row) => ofNumbers.ofRows[numberOf(row)]), count: ofNumbers.count };
  }
  const last = count - 1;
  return { ofRows: wordsOf(rows, order.isDescending ? (row) => last - numberOf(row) : numberOf), count };
}

function ranksOfValues(values: readonly SortValue[], { isDescending, nullsFirst }: ResultOrder): Ranks {
  const distinct = sortedValues(new Set(values));
  if (isDescending) distinct.reverse();
  const first = nullsFirst ? 1 : 0;
  const ranks = new Map<SortValue, number>(distinct.map((value, i) => [value, first + i]));
  ranks.set(null, nullsFirst ? 0 : distinct.length);
  return { ofRows: wordsOf(values, (value) => ranks.get(value) ?? 0), count: distinct.length + 1 };
}

/** Returns rows by their ranks, those of a rank in the order that they have. */
function sortedBy({ ofRows: ranks, count }: Ranks, rows: Uint32Array): Uint32Array<ArrayBuffer> {
  const next = new Uint32Array(count + 1);
  for (let i = 0; i < ranks.length; i++) next[ranks[i] + 1]++;
  for (let rank = 0; rank < count; rank++) next[rank + 1] += next[rank];
  const sorted = new Uint32Array(rows.length);
  for (let i = 0; i < rows.length; i++) sorted[next[ranks[rows[i]]]++] = rows[i];
  return sorted;
}

/** Code units from here on are not in the order of the UTF-8 bytes, by which the engine sorts. */
const SURROGATES = /[\ud800-\uffff]/;

/** Returns the values that are not null in the order of the engine: NaN is greatest. */
function sortedValues(values: ReadonlySet<SortValue>): SortValue[] {
  const texts = [...values].filter((value) => typeof value === 'string');
  if (texts.some((text) => SURROGATES.test(text))) {
    return texts.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
  const times = [...values].filter((value) => typeof value === 'bigint');
  const numbers = [...values].filter((value) => typeof value === 'number');
  const truths = [false, true].filter((value) => values.has(value));
  return [...texts.sort(), ...BigInt64Array.from(times).sort(), ...Float64Array.from(numbers).sort(), ...truths];
}
