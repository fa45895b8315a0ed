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

import { BACKSLASH, COMMA, CR, DIGIT_0, EQUALS, LF, LOWER_I, MINUS, SPACE } from '#shared/bytes/ascii';
import { hash32 } from '#shared/bytes/hash64';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { COLUMNS_MAX, NAME_BYTES_MAX } from '#shared/schema/names';
import type { DataType } from '#shared/schema/data-type';

import { columnNameProblem, findKeyEnd, keyNameProblem, parseKey, unescapeFieldName, type ParsedKey } from './key.js';
import { KeyOrder } from './key-order.js';
import { KeyScan } from './key-scan.js';
import { isBlank, isComment, LineBounds, skipBlank } from './line.js';
import { RecentTimes } from './recent-times.js';
import { Rejections } from './rejections.js';
import type { FieldSlot, KnownKey, KnownTable, SeriesCache } from './series-cache.js';
import { NanosecondTime, type Precision } from './timestamp.js';
import { FieldValue, INT64, valueProblem } from './value.js';

/** Native types of a table's fields, by table and name. */
export type FieldTypes = ReadonlyMap<string, ReadonlyMap<string, string>>;

export interface DecodeOptions {
  readonly precision: Precision;
  /** Time of lines that name none. */
  readonly nowNs: bigint;
  /** Types that fields have whatever the first value in the request is. */
  readonly fieldTypes?: FieldTypes | undefined;
}

/** Bytes of a series key, and of a field name added to it. */
const KEY_BYTES_MAX = 65_535;
const TABLES_MAX = 10_000;
/** Columns of all tables of a request. */
const FIELDS_MAX = 65_536;
/** A body of the default limit has at most so many values; more are gaps. */
const CELLS_MAX = 16 * 1024 * 1024;
/** Digits of an integer that fits a double whatever they are. */
const EXACT_DIGITS = 15;

/** Decodes one body, in slices. */
export class LineDecoder {
  readonly rejections = new Rejections();
  readonly #bytes: Buffer;
  readonly #view: DataView;
  /** Behind the last line break: up to here no reader needs to ask for the end of the bytes. */
  readonly #fastEnd: number;
  readonly #options: DecodeOptions;
  readonly #cache: SeriesCache;
  readonly #batches: BatchSet;
  #at = 0;
  #checkedTo = 0;
  #fieldCount = 0;

  readonly #order: KeyOrder;
  #epoch: number;
  #table: KnownTable | undefined = undefined;
  #builder: TableBuilder | undefined = undefined;

  readonly #now = new NanosecondTime();
  readonly #times: RecentTimes;
  readonly #value = new FieldValue();
  readonly #line = new LineBounds();
  readonly #scan = new KeyScan();

  /** @param bytes must not change until the last slice is decoded. */
  constructor(bytes: Buffer, options: DecodeOptions, cache: SeriesCache, batches: BatchSet) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#fastEnd = bytes.lastIndexOf(LF) + 1;
    this.#options = options;
    this.#cache = cache;
    this.#batches = batches;
    this.#order = new KeyOrder(cache.guess);
    this.#times = new RecentTimes(bytes, options.precision);
    this.#epoch = cache.epoch;
    this.#now.setNow(options.nowNs, options.precision);
  }

  /**
   * Decodes lines of about `budgetBytes`.
   *
   * @returns whether that was the last slice.
   * @throws `invalid_arguments` if the bytes are not UTF-8 or spread over too many tables, columns or gaps.
   */
  decode(budgetBytes: number): boolean {
    const stop = this.#checkText(this.#at + budgetBytes);
    this.#forgetOldGuesses();
    while (this.#at < stop) this.#at = this.#decodeLine(this.#at);
    this.#checkSize();
    if (this.#at < this.#bytes.length) return false;
    this.#checkText(this.#bytes.length); // the last line may have begun in the checked part and ended behind it
    if (this.#epoch === this.#cache.epoch) this.#cache.guess = this.#order.expected;
    this.#cache.forgetBuilders(this.#batches.tables.keys());
    return true;
  }

  /** Decodes the line at `at`; returns where the next one begins. */
  #decodeLine(at: number): number {
    if (at < this.#fastEnd) {
      const known = this.#knownKeyAt(at);
      if (known !== undefined) {
        const builder = this.#builderOf(known.table);
        builder.startRow(known.entry);
        const next = this.#knownFields(known.table, builder, at + known.length + 1);
        if (next !== 0) {
          this.#order.follow(known);
          return next;
        }
        builder.undoRow();
      }
    }
    return this.#decodeAnyLine(at);
  }

  // --- lines that repeat what is known: 0 and undefined mean that the other reader must look -------------------------

  #knownKeyAt(at: number): KnownKey | undefined {
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
    return end < this.#fastEnd && this.#bytes[end] === SPACE && key.equals(this.#view, at);
  }

  /** A key with escapes is left to the other reader. */
  #findKey(at: number): KnownKey | undefined {
    const scan = this.#scan;
    if (!scan.scan(this.#view, at, this.#fastEnd)) return undefined;
    return this.#cache.find(this.#view, at, scan.end, scan.hash);
  }

  #knownFields(table: KnownTable, builder: TableBuilder, from: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const row = builder.rowCount;
    let before: FieldSlot | undefined = undefined;
    let slot = table.first;
    let at = from;
    for (;;) {
      if (slot === undefined || at + slot.length >= this.#fastEnd || !slot.equals(view, at)) {
        slot = this.#findSlot(table, before, at);
        if (slot === undefined) return 0;
      }
      at = this.#knownValue(slot, builder, row, at + slot.length);
      if (at === 0) return 0;
      if (bytes[at] !== COMMA) return this.#knownEnd(builder, at);
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

  /** Integers of few digits are read here; they are nearly all there is in the largest loads. */
  #knownValue(slot: FieldSlot, builder: TableBuilder, row: number, at: number): number {
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
    if (!value.read(bytes, at, this.#fastEnd)) return 0;
    const field = this.#fieldOf(slot, builder, value.type);
    if (field === undefined) return 0;
    value.store(field, row, bytes);
    return value.end;
  }

  #fieldOf(slot: FieldSlot, builder: TableBuilder, type: DataType): FieldBuilder | undefined {
    if (slot.owner === builder && slot.field?.type === type) return slot.field;
    const field = this.#columnFor(builder, slot.name, type);
    if (field?.type !== type) return undefined;
    slot.owner = builder;
    slot.field = field;
    return field;
  }

  /** Reads the timestamp at `at`, if there is one, and the line break. */
  #knownEnd(builder: TableBuilder, from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (bytes[at] === SPACE) at++;
    let time: NanosecondTime = this.#now;
    if (at > from && bytes[at] !== LF && bytes[at] !== CR) {
      const end = this.#knownTime(at);
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

  /** Where the timestamp at `at` ends, which is the latest one then. */
  #knownTime(at: number): number {
    const times = this.#times;
    if (times.find(at, this.#fastEnd)) return at + times.latest.length;
    const bytes = this.#bytes;
    let stop = bytes[at] === MINUS ? at + 1 : at;
    while ((bytes[stop] ^ DIGIT_0) <= 9) stop++;
    return times.read(at, stop) === '' ? stop : 0;
  }

  // --- all lines -----------------------------------------------------------------------------------------------------

  #decodeAnyLine(from: number): number {
    const bytes = this.#bytes;
    const line = this.#line;
    const start = skipBlank(bytes, from);
    if (start === bytes.length) return start;
    if (isComment(bytes[start])) {
      line.findOfComment(bytes, start);
      return line.next;
    }
    line.find(bytes, start);
    if (line.end <= start) return line.next;
    const reason = this.#decodePoint(start, line.end);
    if (reason !== '' && reason !== CONFLICT) this.rejections.addLine(bytes, start, line.end, reason);
    return Math.min(line.next, bytes.length);
  }

  /** Appends the row in `[start, end)` and returns '', or leaves no trace and returns the reason. */
  #decodePoint(start: number, end: number): string {
    const bytes = this.#bytes;
    if (bytes[start] === COMMA) return 'missing measurement';
    const keyEnd = findKeyEnd(bytes, start, end);
    if (keyEnd - start > KEY_BYTES_MAX) return tooLong(keyEnd - start);
    const found = this.#cache.find(this.#view, start, keyEnd, hash32(bytes, start, keyEnd));
    const parsed = found === undefined ? parseKey(bytes, start, keyEnd) : KNOWN;
    if (typeof parsed === 'string') return parsed;
    let fields = keyEnd;
    while (fields < end && bytes[fields] === SPACE) fields++;
    if (fields === end) return 'missing fields';
    const known = found ?? this.#learnKey(start, keyEnd, parsed);
    if (typeof known === 'string') return known;

    const builder = this.#builderOf(known.table);
    builder.startRow(known.entry);
    const reason = this.#decodeFields(known, builder, fields, end);
    if (reason !== '') builder.undoRow();
    else if (known.isKept) this.#order.follow(known);
    return reason;
  }

  #learnKey(start: number, end: number, parsed: ParsedKey): KnownKey | string {
    const problem = keyNameProblem(parsed);
    if (problem !== '') return problem;
    const known = this.#cache.add(this.#bytes, start, end, parsed);
    this.#forgetOldGuesses();
    return known;
  }

  #decodeFields(known: KnownKey, builder: TableBuilder, from: number, end: number): string {
    const bytes = this.#bytes;
    if (isBlank(bytes[from])) return 'invalid field format';
    let before: FieldSlot | undefined = undefined;
    let at = from;
    for (;;) {
      const equals = findEquals(bytes, at, end);
      if (equals === end) return 'invalid field format';
      if (equals === at) return 'missing field key';
      const keyBytes = known.length + 4 + equals - at;
      if (keyBytes > KEY_BYTES_MAX) return tooLong(keyBytes);
      const next = bytes[equals + 1];
      if (equals + 1 === end || next === COMMA || next === SPACE) return 'missing field value';
      const reason = this.#decodeField(known, builder, { from: at, equals, end });
      if (reason !== '') return reason;
      before = this.#noteSlot(known.table, before, at, equals + 1);
      at = this.#value.end;
      if (at === end || bytes[at] === SPACE) return this.#decodeEnd(builder, at, end);
      at++;
    }
  }

  #decodeField(
    known: KnownKey,
    builder: TableBuilder,
    { from, equals, end }: { readonly from: number; readonly equals: number; readonly end: number },
  ): string {
    const bytes = this.#bytes;
    const value = this.#value;
    const isRead = value.read(bytes, equals + 1, end);
    if (!isRead || (value.end < end && bytes[value.end] !== COMMA && bytes[value.end] !== SPACE)) {
      return valueProblem(bytes, equals + 1, end);
    }
    const name = unescapeFieldName(bytes, from, equals);
    const problem = columnNameProblem('field', name);
    if (problem !== '') return problem;
    known.table.addFieldName(name);
    if (known.table.mayClash && known.entry.tags.some((tag) => tag.name === name)) {
      return `input field "${name}" on measurement "${known.table.name}" is already a tag`;
    }
    const field = this.#columnFor(builder, name, value.type);
    if (field === undefined) return `measurement has more than ${COLUMNS_MAX} fields`;
    if (field.type !== value.type) {
      this.rejections.addConflict(known.table.name, name, value.type.name, field.type.name);
      return CONFLICT;
    }
    value.store(field, builder.rowCount, bytes);
    return '';
  }

  /** Remembers the name `[from, to)` as the one that came behind `before`. */
  #noteSlot(table: KnownTable, before: FieldSlot | undefined, from: number, to: number): FieldSlot | undefined {
    const bytes = this.#bytes;
    // What may not begin the fields of a line must not be found there by comparison.
    if (isBlank(bytes[from]) || bytes.subarray(from, to).includes(BACKSLASH)) return before;
    const raw = bytes.toString('latin1', from, to);
    const name = bytes.toString('utf8', from, to - 1);
    const slot = table.slot(raw) ?? this.#cache.addSlot(table, name, bytes.subarray(from, to));
    if (slot === undefined) return before;
    slot.owner = undefined; // the builder may have made a new column for the name
    if (before === undefined) table.first = slot;
    else before.next = slot;
    return slot;
  }

  #decodeEnd(builder: TableBuilder, from: number, end: number): string {
    const bytes = this.#bytes;
    let at = from;
    while (at < end && bytes[at] === SPACE) at++;
    if (at === end) {
      builder.endRow(this.#now.low, this.#now.high);
      return '';
    }
    let stop = at;
    while (stop < end && bytes[stop] !== SPACE) stop++;
    const reason = this.#times.read(at, stop);
    if (reason !== '') return reason;
    while (stop < end && bytes[stop] === SPACE) stop++;
    if (stop < end) return 'point is invalid';
    builder.endRow(this.#times.latest.low, this.#times.latest.high);
    return '';
  }

  // --- what both use -------------------------------------------------------------------------------------------------

  /** A chain of guesses would keep keys in memory that the cache has let go. */
  #forgetOldGuesses(): void {
    if (this.#epoch === this.#cache.epoch) return;
    this.#epoch = this.#cache.epoch;
    this.#order.forget();
  }

  #builderOf(table: KnownTable): TableBuilder {
    if (this.#table === table && this.#builder !== undefined) return this.#builder;
    const builder = this.#batches.table(table.name);
    if (this.#batches.tables.size > TABLES_MAX) {
      throw new AlmanacError('invalid_arguments', `request writes to more than ${TABLES_MAX} tables`);
    }
    this.#table = table;
    this.#builder = builder;
    return builder;
  }

  /** The column of a name, which may have another type; `undefined` if there are too many. */
  #columnFor(builder: TableBuilder, name: string, type: DataType): FieldBuilder | undefined {
    const wanted = this.#options.fieldTypes?.get(builder.table)?.get(name) ?? type.name;
    if (builder.fieldNamed(name) === undefined) {
      if (builder.fields.length >= COLUMNS_MAX) return undefined;
      if (++this.#fieldCount > FIELDS_MAX) {
        throw new AlmanacError('invalid_arguments', `request writes to more than ${FIELDS_MAX} columns`);
      }
    }
    return builder.field(name, wanted);
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

  #checkSize(): void {
    let cells = 0;
    for (const { rowCount, fields } of this.#batches.tables.values()) cells += rowCount * fields.length;
    if (cells <= CELLS_MAX) return;
    const text = `request has ${cells} rows x columns, the limit is ${CELLS_MAX}: send fewer lines at once`;
    throw new AlmanacError('invalid_arguments', text, { http: 413 });
  }
}

/** Stands for a key that needs no parsing. */
const KNOWN: ParsedKey = { table: '', tags: [], isIrregular: false };
/** A point that is kept out by a type is counted on its own. */
const CONFLICT = 'field type conflict';

/** Where the `=` of a field stands; `end` if a comma or a space comes before it. */
function findEquals(bytes: Buffer, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    const byte = bytes[at];
    if (byte !== EQUALS && byte !== COMMA && byte !== SPACE) continue;
    if (at > from && bytes[at - 1] === BACKSLASH) continue;
    return byte === EQUALS ? at : end;
  }
  return end;
}

function tooLong(length: number): string {
  return `max key length exceeded: ${length} > ${KEY_BYTES_MAX}`;
}
