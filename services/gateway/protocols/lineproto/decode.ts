/**
 * Decodes line protocol to columns (grammar: docs/protocols/lineproto.md).
 *
 *     cpu,host=a,region=eu usage=12i,idle=80.5 1700000000000000000
 *     |------ key ------| |----- fields ----| |--- timestamp ---|
 *
 * Most lines repeat what was sent before: the same series, the same field names in the same order. So a line is first
 * read by comparison: its key with the key that followed the last one in an earlier request, each field name with the
 * one that followed the last one in the previous line. Only what does not compare equal is looked up by hash; the key of
 * a new series is parsed and kept. A line with anything else that is new, rare or malformed goes to the second, complete
 * reader, which also finds the reason of a rejection.
 */
import { isUtf8 } from 'node:buffer';

import { LF } from '#shared/bytes/ascii';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet } from '#shared/rowbatch/builder';

import type { RejectedRows } from '../common/rejected-rows.js';
import { RequestRows } from '../common/request-rows.js';
import type { Decoding, FieldTypes } from '../protocol.js';
import { AnyLines } from './any-lines.js';
import { KeyOrder } from './key-order.js';
import { KnownLines } from './known-lines.js';
import { RecentTimes } from './recent-times.js';
import type { LineCache } from './line-cache.js';
import { NanosecondTime, type Precision } from './timestamp.js';

/** Options of a `LineDecoder`. */
export interface LineDecodeOptions {
  readonly precision: Precision;
  /** Time of lines without a timestamp. */
  readonly nowNs: bigint;
  /** Types of fields, which the first value in the request decides otherwise. */
  readonly fieldTypes?: FieldTypes | undefined;
}

/** Decodes one body. */
export class LineDecoder implements Decoding {
  readonly #bytes: Buffer;
  readonly #cache: LineCache;
  readonly #batches: BatchSet;
  readonly #order: KeyOrder;
  readonly #rows: RequestRows;
  readonly #known: KnownLines;
  readonly #any: AnyLines;
  #at = 0;
  #checkedTo = 0;

  /** @param bytes must not change until the body is decoded. */
  constructor(bytes: Buffer, options: LineDecodeOptions, cache: LineCache, batches: BatchSet) {
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

  get rejected(): RejectedRows {
    return this.#any.rejected;
  }

  /**
   * Decodes lines of about `budgetBytes`.
   *
   * @returns whether the body is done.
   * @throws `invalid_arguments` if the bytes are not UTF-8, or there are too many tables, columns or gaps.
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
    this.#checkText(this.#bytes.length); // the last line may end after the part that is checked
    this.#order.keep();
    this.#cache.forgetBuilders(this.#batches.tables.keys());
    return true;
  }

  /** Checks that the bytes up to the first line break after `from` are UTF-8; returns where they end. */
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
