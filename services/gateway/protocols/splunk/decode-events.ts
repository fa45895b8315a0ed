import { AlmanacError } from '#shared/errors/almanac-error';

import { CLOSE_BRACKET, COMMA, OPEN_BRACKET } from '#shared/bytes/ascii';
import type { DocumentTarget } from '../common/document-target.js';
import { afterJsonSpace, JsonKind, type JsonMember, type JsonTape } from '../common/json-tape.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';
import { splunkError } from './codes.js';
import { readEventTime } from './event-time.js';

const NO_LETTER_FIRST = /^[^a-zA-Z_:-]/;
const NOT_IN_NAMES = /[^A-Za-z0-9_:\-.@#]/g;

/** Tags of every event, in their order. */
export const ORIGIN_TAGS = ['host', 'source', 'sourcetype'] as const;

/** What becomes of a value: by the first key of its path. */
const Use = { undecided: 0, none: 1, tag: 2, field: 3, time: 4, index: 5, content: 6, invalid: 7, indexed: 8 } as const;
const USES: ReadonlyMap<string, number> = new Map<string, number>([
  ...ORIGIN_TAGS.map((name) => [name, Use.tag] as const),
  ['event', Use.content],
  ['time', Use.time],
  ['index', Use.index],
  ['fields', Use.indexed],
]);

/** Options of the rows of one request. */
export interface EventOptions {
  /** Table of events that name no index. */
  readonly table: string;
  readonly timeColumn: string;
  readonly nowNs: bigint;
}

/** Returns the table of an index; undefined if it names none. */
export function tableOfIndex(index: string): string | undefined {
  const name = index.trim().replaceAll(NOT_IN_NAMES, '_');
  if (name === '') return undefined;
  return NO_LETTER_FIRST.test(name) ? `_${name}` : name;
}

/** Decodes events: objects one after the other, with or without space between them, or a list of them. */
export class EventDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #bytes: Buffer;
  readonly #rows: DocumentTarget;
  readonly #tape: JsonTape;
  readonly #options: EventOptions;
  #at = 0;
  #isList = false;
  #count = 0;
  /** Positions in the tape of the values that an event has once; -1 if it has none. */
  #time = -1;
  #index = -1;
  #content = -1;

  constructor(bytes: Buffer, rows: DocumentTarget, options: EventOptions) {
    this.#bytes = bytes;
    this.#rows = rows;
    this.#tape = rows.tape;
    this.#options = options;
    // Members of `fields` are columns of their own names.
    const fields = this.#tape.memberOf(this.#tape.root, 'fields');
    fields.prefix = '';
    // They are distinguished also where those of `event` are not.
    fields.level = this.#tape.root.level;
    this.#at = this.#afterSpace(0);
    if (bytes[this.#at] !== OPEN_BRACKET) return;
    this.#isList = true;
    this.#at = this.#afterSpace(this.#at + 1);
  }

  /** @throws an error with a code of the event collector for the first event that is malformed. */
  decode(budgetBytes: number): boolean {
    const stop = this.#at + budgetBytes;
    while (this.#at < stop) {
      if (this.#isAtEnd()) {
        if (this.#count === 0) throw splunkError(5);
        this.#rows.checkSize();
        return true;
      }
      this.#addEvent();
      this.#count++;
    }
    return false;
  }

  /** Whether there is no other event. Moves to the next one. */
  #isAtEnd(): boolean {
    const bytes = this.#bytes;
    this.#at = this.#afterSpace(this.#at);
    if (!this.#isList) return this.#at === bytes.length;
    if (bytes[this.#at] === CLOSE_BRACKET) {
      if (this.#afterSpace(this.#at + 1) !== bytes.length) throw splunkError(6, this.#count);
      return true;
    }
    if (this.#count > 0 && bytes[this.#at] === COMMA) this.#at++;
    return false;
  }

  #afterSpace(from: number): number {
    return afterJsonSpace(this.#bytes, from, this.#bytes.length);
  }

  #addEvent(): void {
    try {
      this.#at = this.#tape.read(this.#bytes, this.#at, this.#bytes.length);
      this.#add();
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      // Limits of a request are no fault of one event.
      if (error.httpStatus !== 400 || error.details['splunk_code'] !== undefined) throw error;
      throw splunkError(6, this.#count, error.publicMessage);
    }
  }

  #add(): void {
    const tape = this.#tape;
    const rows = this.#rows;
    this.#time = this.#index = this.#content = -1;
    for (let i = 0; i < tape.count; i++) {
      if (tape.kinds[i] !== JsonKind.replaced) this.#sort(i, this.#useOf(tape.members[i]));
    }
    if (this.#content < 0) throw splunkError(12, this.#count);
    const time = this.#timeOf(this.#time);
    const index = this.#index < 0 ? undefined : tableOfIndex(tape.text(this.#index));
    rows.end(index ?? this.#options.table, time);
  }

  #sort(i: number, use: number): void {
    const kind = this.#tape.kinds[i];
    switch (use) {
      case Use.tag:
        if (kind === JsonKind.list || kind === JsonKind.empty) throw splunkError(6, this.#count);
        return this.#rows.tagValue(i);
      case Use.content:
        this.#checkContent(i);
        this.#content = i;
        return this.#rows.fieldValue(i);
      case Use.field:
        return this.#rows.fieldValue(i);
      case Use.time:
        if (kind !== JsonKind.null) this.#time = i;
        return;
      case Use.index:
        if (kind === JsonKind.list || kind === JsonKind.empty) throw splunkError(6, this.#count);
        if (kind !== JsonKind.null) this.#index = i;
        return;
      case Use.indexed:
        return this.#addIndexed(i);
      case Use.invalid:
        throw splunkError(6, this.#count);
      default:
        return;
    }
  }

  /** Adds a value of `fields`, or `fields` itself if it is not an object with members. */
  #addIndexed(i: number): void {
    const kind = this.#tape.kinds[i];
    const member = this.#tape.members[i];
    const { root } = this.#tape;
    if (member.parent === root) {
      if (kind !== JsonKind.null && kind !== JsonKind.empty) throw splunkError(15, this.#count);
      return;
    }
    if (USES.has(member.name) || member.name === this.#options.timeColumn) return;
    if (member.parent?.parent !== root || kind === JsonKind.empty) throw splunkError(15, this.#count);
    this.#rows.tagValue(i);
  }

  #useOf(member: JsonMember): number {
    if (member.use === Use.undecided) member.use = this.#decideUse(member);
    return member.use;
  }

  #decideUse(member: JsonMember): number {
    const { root } = this.#tape;
    let top = member;
    while (top.parent !== undefined && top.parent !== root) top = top.parent;
    const use = USES.get(top.name) ?? (top.name === this.#options.timeColumn ? Use.none : Use.field);
    if (top === member || use === Use.content || use === Use.indexed || use === Use.none) return use;
    // The others must not be objects.
    return use === Use.field ? use : Use.invalid;
  }

  /** @throws an error if an event is null or blank. */
  #checkContent(i: number): void {
    const { kinds, members, from, to, bytes, root } = this.#tape;
    if (members[i].parent !== root) return;
    const kind = kinds[i];
    const isShown = kind === JsonKind.text && to[i] > from[i] && bytes[from[i]] > 0x20 && bytes[from[i]] < 0x80;
    if (isShown) return;
    const isText = kind === JsonKind.text || kind === JsonKind.escaped;
    if (kind === JsonKind.null || (isText && this.#tape.text(i).trim() === '')) throw splunkError(13, this.#count);
  }

  #timeOf(i: number): bigint {
    if (i < 0) return this.#options.nowNs;
    const kind = this.#tape.kinds[i];
    const isScalar = kind >= JsonKind.integer && kind <= JsonKind.escaped;
    const ns = isScalar ? readEventTime(this.#tape.text(i)) : undefined;
    if (ns === undefined) throw splunkError(6, this.#count);
    return ns;
  }
}
