import { BACKSLASH, COMMA, EQUALS, SPACE } from '#shared/bytes/ascii';
import { hash32 } from '#shared/bytes/hash64';
import type { TableBuilder } from '#shared/rowbatch/builder';
import { COLUMNS_MAX } from '#shared/schema/names';

import { RejectedRows } from '../common/rejected-rows.js';
import { columnNameProblem, findKeyEnd, parseKey, unescapeFieldName, type ParsedKey } from './key.js';
import { isBlank, isComment, LineBounds, skipBlank } from './line.js';
import { learnKey, type LineBody } from './line-body.js';
import type { FieldSlot, KnownKey, KnownTable } from './line-cache.js';
import { FieldValue, valueProblem } from './value.js';

/** Bytes of a line that its rejection shows. */
const LINE_BYTES_MAX = 256;
/** Bytes of a series key, and of a field name added to it. */
const KEY_BYTES_MAX = 65_535;
/** Parsed key of a line whose series is cached, so that its key is not parsed. */
const KNOWN: ParsedKey = {
  table: '',
  names: [],
  areNamesShared: false,
  nameProblem: '',
  id: 0n,
  isIrregular: false,
};
/** Points that are rejected for the type of a value are counted separately. */
const CONFLICT = 'field type conflict';

/** Reads lines of any kind, reports why one is not a point, and caches what `KnownLines` reads by. */
export class AnyLines {
  readonly rejected = new RejectedRows();
  readonly #body: LineBody;
  readonly #value = new FieldValue();
  readonly #line = new LineBounds();

  constructor(body: LineBody) {
    this.#body = body;
  }

  /** Appends the row of the line at `from`, or the reason why there is none. @returns the start of the next line. */
  read(from: number): number {
    const { bytes } = this.#body;
    const line = this.#line;
    const start = skipBlank(bytes, from);
    if (start === bytes.length) return start;
    if (isComment(bytes[start])) {
      line.findComment(bytes, start);
      return line.next;
    }
    line.find(bytes, start);
    if (line.end <= start) return line.next;
    const reason = this.#readPoint(start, line.end);
    if (reason !== '' && reason !== CONFLICT) {
      const { end } = line;
      this.rejected.addMalformed(() => `unable to parse '${lineText(bytes, start, end)}': ${reason}`);
    }
    return Math.min(line.next, bytes.length);
  }

  /** Appends the row in `[start, end)` and returns an empty text, or appends nothing and returns the reason. */
  #readPoint(start: number, end: number): string {
    const { bytes } = this.#body;
    if (bytes[start] === COMMA) return 'missing measurement';
    const keyEnd = findKeyEnd(bytes, start, end);
    if (keyEnd - start > KEY_BYTES_MAX) return tooLong(keyEnd - start);
    const found = this.#body.cache.find(this.#body.view, start, keyEnd, hash32(bytes, start, keyEnd));
    const parsed = found === undefined ? parseKey(bytes, start, keyEnd) : KNOWN;
    if (typeof parsed === 'string') return parsed;
    let fields = keyEnd;
    while (fields < end && bytes[fields] === SPACE) fields++;
    if (fields === end) return 'missing fields';
    const known = found ?? learnKey(this.#body, start, keyEnd, parsed);
    if (typeof known === 'string') return known;

    const builder = this.#body.rows.builderOf(known.table);
    builder.startRow(known.entry);
    const reason = this.#readFields(known, builder, fields, end);
    if (reason !== '') builder.undoRow();
    else if (known.isKept) this.#body.order.follow(known);
    return reason;
  }

  #readFields(known: KnownKey, builder: TableBuilder, from: number, end: number): string {
    const { bytes } = this.#body;
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
      const reason = this.#readField(known, builder, { from: at, equals, end });
      if (reason !== '') return reason;
      before = this.#noteSlot(known.table, before, at, equals + 1);
      at = this.#value.end;
      if (at === end || bytes[at] === SPACE) return this.#readEnd(builder, at, end);
      at++;
    }
  }

  #readField(
    known: KnownKey,
    builder: TableBuilder,
    { from, equals, end }: { readonly from: number; readonly equals: number; readonly end: number },
  ): string {
    const { bytes } = this.#body;
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
    const field = this.#body.rows.columnFor(builder, name, value.type);
    if (field === undefined) return `measurement has more than ${COLUMNS_MAX} fields`;
    if (field.type !== value.type) {
      this.rejected.addConflict(known.table.name, { column: name, given: value.type.name, existing: field.type.name });
      return CONFLICT;
    }
    value.store(field, builder.rowCount, bytes);
    return '';
  }

  /** Remembers the name `[from, to)` as the one that followed `before`. */
  #noteSlot(table: KnownTable, before: FieldSlot | undefined, from: number, to: number): FieldSlot | undefined {
    const { bytes } = this.#body;
    // A name that may not begin the fields of a line must not be found there by comparison.
    if (isBlank(bytes[from]) || bytes.subarray(from, to).includes(BACKSLASH)) return before;
    const raw = bytes.toString('latin1', from, to);
    const name = bytes.toString('utf8', from, to - 1);
    const slot = table.slot(raw) ?? this.#body.cache.addSlot(table, name, bytes.subarray(from, to));
    if (slot === undefined) return before;
    slot.owner = undefined; // the builder may have a new column for the name
    if (before === undefined) table.first = slot;
    else before.next = slot;
    return slot;
  }

  #readEnd(builder: TableBuilder, from: number, end: number): string {
    const { bytes } = this.#body;
    let at = from;
    while (at < end && bytes[at] === SPACE) at++;
    if (at === end) {
      builder.endRow(this.#body.now.low, this.#body.now.high);
      return '';
    }
    let stop = at;
    while (stop < end && bytes[stop] !== SPACE) stop++;
    const reason = this.#body.times.read(at, stop);
    if (reason !== '') return reason;
    while (stop < end && bytes[stop] === SPACE) stop++;
    if (stop < end) return 'point is invalid';
    builder.endRow(this.#body.times.latest.low, this.#body.times.latest.high);
    return '';
  }
}

/** Returns the position of the `=` of a field; `end` if a comma or a space precedes it. */
function findEquals(bytes: Buffer, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    const byte = bytes[at];
    if (byte !== EQUALS && byte !== COMMA && byte !== SPACE) continue;
    if (at > from && bytes[at - 1] === BACKSLASH) continue;
    return byte === EQUALS ? at : end;
  }
  return end;
}

/** Returns the start of a line for a message. */
function lineText(bytes: Buffer, from: number, to: number): string {
  if (to - from <= LINE_BYTES_MAX) return bytes.toString('utf8', from, to);
  let end = from + LINE_BYTES_MAX;
  // Characters are not split: the later bytes of one are 10xxxxxx.
  while (end > from && (bytes[end] & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', from, end);
}

function tooLong(length: number): string {
  return `max key length exceeded: ${length} > ${KEY_BYTES_MAX}`;
}
