import { BACKSLASH, COMMA, CR, EQUALS, HASH, LF, NUL, QUOTE, SPACE, TAB } from '#shared/bytes/ascii';

/** The end of a line, and the start of the next one. */
export class LineBounds {
  /** Position after the last byte of the line, without its line break. */
  end = 0;
  next = 0;

  /**
   * Finds the end of the line that starts at `from`, which is neither white space nor a comment.
   *
   * It ends at a line break outside of a quoted value. A quote opens only directly after `=` in the field part, if that
   * has more `=` than commas so far. A backslash escapes any byte.
   */
  find(bytes: Buffer, from: number): void {
    const to = bytes.length;
    let inFields = false;
    let equalsAhead = 0;
    let at = from;
    for (; at < to; at++) {
      const byte = bytes[at];
      if (byte === BACKSLASH) at++;
      else if (byte === LF) break;
      else if (byte === SPACE) inFields = true;
      else if (!inFields) continue;
      else if (byte === EQUALS) equalsAhead++;
      else if (byte === COMMA) equalsAhead--;
      else if (byte === QUOTE && equalsAhead > 0 && bytes[at - 1] === EQUALS) at = closingQuote(bytes, at + 1);
    }
    this.#set(bytes, from, Math.min(at, to));
  }

  /** Finds the end of a comment: the next line break. */
  findComment(bytes: Buffer, from: number): void {
    const at = bytes.indexOf(LF, from);
    this.#set(bytes, from, at === -1 ? bytes.length : at);
  }

  #set(bytes: Buffer, from: number, lineBreak: number): void {
    this.next = lineBreak + 1;
    this.end = lineBreak > from && bytes[lineBreak - 1] === CR ? lineBreak - 1 : lineBreak;
  }
}

/** Returns the position of the first byte from `at` on that is not white space. */
export function skipBlank(bytes: Buffer, at: number): number {
  let position = at;
  while (position < bytes.length && isBlank(bytes[position])) position++;
  return position;
}

/** Whether the byte is white space inside of a line. */
export function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB || byte === NUL;
}

/** Whether the byte begins a comment. */
export function isComment(byte: number): boolean {
  return byte === HASH;
}

/** Returns the position of the quote that closes a text, or the end of the bytes. */
function closingQuote(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
