import { BACKSLASH, COMMA, CR, LF, QUOTE, SPACE, TAB } from '#shared/bytes/ascii';

const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COLON = 0x3a;
const TIME = Buffer.from('"time"');

/** Finds the objects of a body: one after the other with or without space between them, or in one list. */
export class JsonItems {
  /** The object that was found last is `[from, to)`. */
  from = 0;
  to = 0;
  /** The number that is its member `time` is `[timeFrom, timeTo)`, which is empty if that is no number. */
  timeFrom = 0;
  timeTo = 0;
  readonly #bytes: Buffer;
  #isList = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.to = this.#afterSpace(0);
    if (this.#bytes[this.to] !== OPEN_LIST) return;
    this.#isList = true;
    this.to = this.#afterSpace(this.to + 1);
  }

  /** Finds the next object. @returns `malformed` if anything else follows. */
  next(): 'found' | 'end' | 'malformed' {
    const bytes = this.#bytes;
    let at = this.#afterSpace(this.to);
    if (this.#isList && this.from < this.to && bytes[at] === COMMA) at = this.#afterSpace(at + 1);
    else if (this.#isList && bytes[at] === CLOSE_LIST) {
      this.to = this.#afterSpace(at + 1);
      return this.to === bytes.length ? 'end' : 'malformed';
    }
    if (at === bytes.length) return this.#isList ? 'malformed' : 'end';
    if (bytes[at] !== OPEN_OBJECT) return 'malformed';
    return this.#findEnd(at) ? 'found' : 'malformed';
  }

  #findEnd(from: number): boolean {
    const bytes = this.#bytes;
    this.from = from;
    this.timeFrom = this.timeTo = from;
    let depth = 0;
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        const start = at;
        at = this.#closingQuote(at + 1);
        const isTime = depth === 1 && at - start + 1 === TIME.length && at < bytes.length;
        if (isTime && bytes.compare(TIME, 0, TIME.length, start, at + 1) === 0) this.#findTime(at + 1);
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && --depth === 0) {
        this.to = at + 1;
        return true;
      }
    }
    return false;
  }

  #findTime(afterName: number): void {
    const bytes = this.#bytes;
    let at = this.#afterSpace(afterName);
    if (bytes[at] !== COLON) return;
    at = this.#afterSpace(at + 1);
    this.timeFrom = at;
    while (isNumberPart(bytes[at])) at++;
    this.timeTo = at;
  }

  #closingQuote(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    return at;
  }

  #afterSpace(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (bytes[at] === SPACE || bytes[at] === LF || bytes[at] === CR || bytes[at] === TAB) at++;
    return at;
  }
}

/** Digits, signs, the decimal point and the letter of an exponent. */
function isNumberPart(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e || (byte | 0x20) === 0x65;
}
