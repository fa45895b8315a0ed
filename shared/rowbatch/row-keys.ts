/** Short forms of the keys of a batch: a scrape has one time for a thousand series, and each of its rows has its own series. */
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RowBatch } from './row-batch.js';

/** Shorter batches save less by short keys than the headers for these take. */
const ROWS_MIN = 64;
/** With more, looking times up would take longer than writing them. */
const DISTINCT_TIMES_MAX = 16;

/** The forms in which series and times of a batch are encoded. */
export interface KeyForms {
  /** Whether row i is of series i, so that positions need not be written. */
  readonly isSeriesPerRow: boolean;
  /** Undefined: each row has a time of its own. */
  readonly times: IndexedTimes | undefined;
}

/** Times of rows as positions in a list. */
export interface IndexedTimes {
  readonly distinct: BigInt64Array<ArrayBuffer>;
  /** One position a row; its memory is used again for the next batch. */
  readonly index: Uint8Array<ArrayBuffer>;
}

const FULL_KEYS: KeyForms = { isSeriesPerRow: false, times: undefined };

/** Returns the shortest forms for a batch. */
export function keyForms({ rowCount, tsids, seriesIndex, times }: RowBatch): KeyForms {
  if (rowCount < ROWS_MIN) return FULL_KEYS;
  const isSeriesPerRow = tsids.length === rowCount && isIdentity(seriesIndex);
  return { isSeriesPerRow, times: indexTimes(times) };
}

/** Whether entry i is i, for all entries. */
export function isIdentity(index: Uint32Array): boolean {
  if (isShared(index)) return true;
  for (let row = 0; row < index.length; row++) if (index[row] !== row) return false;
  return true;
}

/** Whether `identityIndex` returned the array from memory that all batches share. */
export function isShared(index: Uint32Array): boolean {
  return index.buffer === IDENTITY.buffer;
}

/** Arrays of batches with more rows are not kept. */
const KEPT_ROWS_MAX = 64 * 1024;
const IDENTITY: Uint32Array<ArrayBuffer> = numbersBelow(KEPT_ROWS_MAX);

/** Returns the positions 0, 1, 2 and so on; they are shared and must not change. */
export function identityIndex(length: number): Uint32Array<ArrayBuffer> {
  return length <= KEPT_ROWS_MAX ? IDENTITY.subarray(0, length) : numbersBelow(length);
}

function numbersBelow(length: number): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(length);
  for (let i = 0; i < length; i++) numbers[i] = i;
  return numbers;
}

const keptIndex = new Uint8Array(KEPT_ROWS_MAX);
const distinctWords = new Int32Array(2 * DISTINCT_TIMES_MAX);

/** Returns undefined if there are more distinct times than are worth a list. */
function indexTimes(times: BigInt64Array): IndexedTimes | undefined {
  const rowCount = times.length;
  const index = rowCount <= KEPT_ROWS_MAX ? keptIndex : new Uint8Array(rowCount);
  // In words, because a BigInt would be allocated for each time.
  const words = new Int32Array(times.buffer, times.byteOffset, 2 * rowCount);
  let count = 0;
  let place = 0;
  for (let row = 0; row < rowCount; row++) {
    const low = words[2 * row];
    const high = words[2 * row + 1];
    let tries = 0;
    // Senders repeat times in the same order, so that the next one is mostly found at once.
    while (tries < count && (distinctWords[2 * place] !== low || distinctWords[2 * place + 1] !== high)) {
      place = place + 1 < count ? place + 1 : 0;
      tries++;
    }
    if (tries === count) {
      if (count === DISTINCT_TIMES_MAX) return undefined;
      place = count++;
      distinctWords[2 * place] = low;
      distinctWords[2 * place + 1] = high;
    }
    index[row] = place;
  }
  const distinct = new BigInt64Array(distinctWords.slice(0, 2 * count).buffer);
  return { distinct, index: index.subarray(0, rowCount) };
}

/** Returns the time of each row. @throws `invalid_arguments` if a position is not in the list. */
export function timesOfIndex(distinct: BigInt64Array, index: Uint8Array): BigInt64Array<ArrayBuffer> {
  const source = new Int32Array(distinct.buffer, distinct.byteOffset, 2 * distinct.length);
  const words = new Int32Array(2 * index.length);
  for (let row = 0; row < index.length; row++) {
    const place = index[row];
    if (place >= distinct.length) throw new AlmanacError('invalid_arguments', 'row batch: time out of range');
    words[2 * row] = source[2 * place];
    words[2 * row + 1] = source[2 * place + 1];
  }
  return new BigInt64Array(words.buffer);
}
