import { BACKSLASH, COMMA, CR, DIGIT_0, EQUALS, LF, LOWER_I, MINUS, SPACE } from '#shared/bytes/ascii';
import type { TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import type { DataType } from '#shared/schema/data-type';
import { NAME_BYTES_MAX } from '#shared/schema/names';

import type { RequestRows } from '../common/request-rows.js';
import { parseKey } from './key.js';
import type { KeyOrder } from './key-order.js';
import { KeyScan } from './key-scan.js';
import type { RecentTimes } from './recent-times.js';
import { isBlank, isComment } from './line.js';
import { learnKey, type LineBody } from './line-body.js';
import type { FieldSlot, KnownKey, KnownTable, LineCache } from './line-cache.js';
import type { NanosecondTime } from './timestamp.js';
import { FieldValue, INT64 } from './value.js';

/** Longer keys are left to `AnyLines`, which limits them. */
const LEARNED_BYTES_MAX = 8 * 1024;
/** Digits of an integer that fits a double whatever they are. */
const EXACT_DIGITS = 15;

/**
 * Reads lines that repeat earlier ones: a key that follows the last one as in an earlier request, or is new, and field
 * names that follow each other as in the previous line.
 *
 * Its methods return 0 or undefined for a line with any other new, rare or malformed part, which `AnyLines` must read.
 */
export class KnownLines {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  /** Position after the last line break: lines before it are read without checks for the end of the body. */
  readonly #end: number;
  readonly #cache: LineCache;
  readonly #order: KeyOrder;
  readonly #rows: RequestRows;
  readonly #times: RecentTimes;
  readonly #now: NanosecondTime;
  readonly #value = new FieldValue();
  readonly #scan = new KeyScan();

  constructor({ bytes, view, cache, order, rows, times, now }: LineBody) {
    this.#bytes = bytes;
    this.#view = view;
    this.#end = bytes.lastIndexOf(LF) + 1;
    this.#cache = cache;
    this.#order = order;
    this.#rows = rows;
    this.#times = times;
    this.#now = now;
  }

  /** Appends the row of the line at `at`, or nothing. @returns the start of the next line. */
  read(at: number): number {
    if (at >= this.#end) return 0;
    const known = this.#keyAt(at);
    if (known === undefined) return 0;
    const builder = this.#rows.builderOf(known.table);
    builder.startRow(known.entry);
    const next = this.#readFields(known.table, builder, at + known.length + 1);
    if (next === 0) builder.undoRow();
    else this.#order.follow(known);
    return next;
  }

  #keyAt(at: number): KnownKey | undefined {
    const { guess } = this.#order;
    const known = guess !== undefined && this.#isKeyAt(guess, at) ? guess : this.#otherKeyAt(at);
    return known?.table.mayClash === true ? undefined : known;
  }

  #otherKeyAt(at: number): KnownKey | undefined {
    const { afterGuess, waiting } = this.#order;
    if (afterGuess !== undefined && this.#isKeyAt(afterGuess, at)) return afterGuess;
    if (waiting !== undefined && this.#isKeyAt(waiting, at)) return waiting;
    return this.#findKey(at);
  }

  #isKeyAt(key: KnownKey, at: number): boolean {
    const end = at + key.length;
    return end < this.#end && this.#bytes[end] === SPACE && key.equals(this.#view, at);
  }

  /** Looks a key up by hash, or learns it; keys with escapes are left to `AnyLines`. */
  #findKey(at: number): KnownKey | undefined {
    const scan = this.#scan;
    if (!scan.scan(this.#view, at, this.#end)) return undefined;
    return this.#cache.find(this.#view, at, scan.end, scan.hash) ?? this.#learnKey(at, scan.end);
  }

  /** Adds the key `[from, end)` of a new series, whose fields are mostly named as those of others. */
  #learnKey(from: number, end: number): KnownKey | undefined {
    const bytes = this.#bytes;
    const first = bytes[from];
    const next = bytes[end + 1];
    if (isBlank(first) || isComment(first) || next === SPACE || next === CR || next === LF) return undefined;
    if (end - from > LEARNED_BYTES_MAX) return undefined;
    const parsed = parseKey(bytes, from, end);
    if (typeof parsed === 'string' || parsed.isIrregular) return undefined;
    const known = learnKey({ bytes, cache: this.#cache, order: this.#order }, from, end, parsed);
    return typeof known !== 'string' && known.isKept ? known : undefined;
  }

  #readFields(table: KnownTable, builder: TableBuilder, from: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const row = builder.rowCount;
    let before: FieldSlot | undefined = undefined;
    let slot = table.first;
    let at = from;
    for (;;) {
      if (slot === undefined || at + slot.length >= this.#end || !slot.equals(view, at)) {
        slot = this.#findSlot(table, before, at);
        if (slot === undefined) return 0;
      }
      at = this.#readValue(slot, builder, row, at + slot.length);
      if (at === 0) return 0;
      if (bytes[at] !== COMMA) return this.#readEnd(builder, at);
      at++;
      before = slot;
      slot = slot.next;
    }
  }

  #findSlot(table: KnownTable, before: FieldSlot | undefined, at: number): FieldSlot | undefined {
    const bytes = this.#bytes;
    let end = at;
    while (bytes[end] !== EQUALS) {
      if (bytes[end] === LF || bytes[end] === BACKSLASH || end - at > NAME_BYTES_MAX) return undefined;
      end++;
    }
    const slot = table.slot(bytes.toString('latin1', at, end + 1));
    if (slot === undefined) return undefined;
    if (before === undefined) table.first = slot;
    else before.next = slot;
    return slot;
  }

  /** Reads a value; integers of few digits are read inline, since nearly all values of the largest loads are such. */
  #readValue(slot: FieldSlot, builder: TableBuilder, row: number, at: number): number {
    const bytes = this.#bytes;
    const isNegative = bytes[at] === MINUS;
    const from = isNegative ? at + 1 : at;
    let end = from;
    let number = 0;
    let digit = bytes[end] ^ DIGIT_0;
    while (digit <= 9) {
      number = number * 10 + digit;
      digit = bytes[++end] ^ DIGIT_0;
    }
    if (bytes[end] === LOWER_I && end - from <= EXACT_DIGITS && end > from) {
      const field = this.#fieldOf(slot, builder, INT64);
      if (field === undefined) return 0;
      field.setNumber(row, isNegative ? -number : number);
      return end + 1;
    }
    const value = this.#value;
    if (!value.read(bytes, at, this.#end)) return 0;
    const field = this.#fieldOf(slot, builder, value.type);
    if (field === undefined) return 0;
    value.store(field, row, bytes);
    return value.end;
  }

  #fieldOf(slot: FieldSlot, builder: TableBuilder, type: DataType): FieldBuilder | undefined {
    if (slot.owner === builder && slot.field?.type === type) return slot.field;
    const field = this.#rows.columnFor(builder, slot.name, type);
    if (field?.type !== type) return undefined;
    slot.owner = builder;
    slot.field = field;
    return field;
  }

  /** Reads the timestamp at `from`, if there is one, and the line break. */
  #readEnd(builder: TableBuilder, from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (bytes[at] === SPACE) at++;
    let time: NanosecondTime = this.#now;
    if (at > from && bytes[at] !== LF && bytes[at] !== CR) {
      const end = this.#readTime(at);
      if (end === 0) return 0;
      time = this.#times.latest;
      at = end;
      while (bytes[at] === SPACE) at++;
    }
    if (bytes[at] === CR) at++;
    if (bytes[at] !== LF) return 0;
    builder.endRow(time.low, time.high);
    return at + 1;
  }

  /** Reads the timestamp at `at` into `times.latest`. @returns where it ends. */
  #readTime(at: number): number {
    const times = this.#times;
    if (times.find(at, this.#end)) return at + times.latest.length;
    const bytes = this.#bytes;
    let stop = bytes[at] === MINUS ? at + 1 : at;
    while ((bytes[stop] ^ DIGIT_0) <= 9) stop++;
    return times.read(at, stop) === '' ? stop : 0;
  }
}
