import { BACKSLASH, COMMA, CR, EQUALS, HASH, LF, NUL, QUOTE, SPACE, TAB } from '#shared/bytes/ascii';

/** Where a line ends, and where the next one begins. */
export class LineBounds {
  /** Behind the last byte that belongs to the line: line breaks are left out. */
  end = 0;
  next = 0;

  /**
   * Finds the end of the line that begins at `from`, which is neither white space nor a comment.
   *
   * It ends at a line break outside of a quoted value. A quote opens only directly after `=` in the field part, when
   * there were more `=` than commas in it, and a backslash takes the meaning from any byte behind it.
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
  findOfComment(bytes: Buffer, from: number): void {
    const at = bytes.indexOf(LF, from);
    this.#set(bytes, from, at === -1 ? bytes.length : at);
  }

  #set(bytes: Buffer, from: number, lineBreak: number): void {
    this.next = lineBreak + 1;
    this.end = lineBreak > from && bytes[lineBreak - 1] === CR ? lineBreak - 1 : lineBreak;
  }
}

/** The first byte from `at` on that is no white space. */
export function skipBlank(bytes: Buffer, at: number): number {
  let position = at;
  while (position < bytes.length && isBlank(bytes[position])) position++;
  return position;
}

export function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB || byte === NUL;
}

export function isComment(byte: number): boolean {
  return byte === HASH;
}

/** Where the quote stands that closes a text, or the end of the bytes. */
function closingQuote(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
