/**
 * Line protocol to columns (grammar: docs/protocols/lineproto.md).
 *
 *     cpu,host=a,region=eu usage=12i,idle=80.5 1700000000000000000
 *     |------ key ------| |----- fields ----| |--- timestamp ---|
 *
 * Most lines repeat what was sent before: the same series, the same field names in the same order. So a line is first
 * read by comparison: its key with the key that came behind the last one in an earlier request, each field name with
 * the one that came behind the last one in the line before. Only what does not compare equal is looked up by hash, and
 * a line that holds anything new, rare or malformed goes to the second, complete reader, which alone knows reasons.
 */
import { isUtf8 } from 'node:buffer';

import { LF } from '#shared/bytes/ascii';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet } from '#shared/rowbatch/builder';

import type { FieldTypes } from '../protocol.js';
import { AnyLines } from './any-lines.js';
import { KeyOrder } from './key-order.js';
import { KnownLines } from './known-lines.js';
import { RecentTimes } from './recent-times.js';
import type { Rejections } from './rejections.js';
import { RequestRows } from './request-rows.js';
import type { SeriesCache } from './series-cache.js';
import { NanosecondTime, type Precision } from './timestamp.js';

export interface DecodeOptions {
  readonly precision: Precision;
  /** Time of lines that name none. */
  readonly nowNs: bigint;
  /** Types that fields have whatever the first value in the request is. */
  readonly fieldTypes?: FieldTypes | undefined;
}

/** Decodes one body, in slices. */
export class LineDecoder {
  readonly #bytes: Buffer;
  readonly #cache: SeriesCache;
  readonly #batches: BatchSet;
  readonly #order: KeyOrder;
  readonly #rows: RequestRows;
  readonly #known: KnownLines;
  readonly #any: AnyLines;
  #at = 0;
  #checkedTo = 0;

  /** @param bytes must not change until the last slice is decoded. */
  constructor(bytes: Buffer, options: DecodeOptions, cache: SeriesCache, batches: BatchSet) {
    const now = new NanosecondTime();
    now.setNow(options.nowNs, options.precision);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const order = new KeyOrder(cache);
    const rows = new RequestRows(batches, options.fieldTypes);
    const times = new RecentTimes(bytes, options.precision);
    const body = { bytes, view, cache, order, rows, times, now };
    this.#bytes = bytes;
    this.#cache = cache;
    this.#batches = batches;
    this.#order = order;
    this.#rows = rows;
    this.#known = new KnownLines(body);
    this.#any = new AnyLines(body);
  }

  /** Lines that are no points, and why. */
  get rejections(): Rejections {
    return this.#any.rejections;
  }

  /**
   * Decodes lines of about `budgetBytes`.
   *
   * @returns whether that was the last slice.
   * @throws `invalid_arguments` if the bytes are not UTF-8 or spread over too many tables, columns or gaps.
   */
  decode(budgetBytes: number): boolean {
    const stop = this.#checkText(this.#at + budgetBytes);
    this.#order.refresh();
    let at = this.#at;
    while (at < stop) {
      const next = this.#known.read(at);
      at = next === 0 ? this.#any.read(at) : next;
    }
    this.#at = at;
    this.#rows.checkSize();
    if (at < this.#bytes.length) return false;
    this.#checkText(this.#bytes.length); // the last line may have begun in the checked part and ended behind it
    this.#order.keep();
    this.#cache.forgetBuilders(this.#batches.tables.keys());
    return true;
  }

  /** Checks that the bytes up to the first line break from `from` on are UTF-8; returns where they end. */
  #checkText(from: number): number {
    const bytes = this.#bytes;
    const lineBreak = from >= bytes.length ? -1 : bytes.indexOf(LF, from);
    const stop = lineBreak === -1 ? bytes.length : lineBreak + 1;
    if (stop > this.#checkedTo && !isUtf8(bytes.subarray(this.#checkedTo, stop))) {
      throw new AlmanacError('invalid_arguments', 'body is not valid UTF-8');
    }
    this.#checkedTo = Math.max(stop, this.#checkedTo);
    return stop;
  }
}
