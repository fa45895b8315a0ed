/** A position in a text that is read from left to right. */
export class TextCursor {
  text = '';
  at = 0;

  /** Begins to read a text. */
  start(text: string): void {
    this.text = text;
    this.at = 0;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Passes a text, if it is next. @returns whether it was. */
  skips(expected: string): boolean {
    if (!this.text.startsWith(expected, this.at)) return false;
    this.at += expected.length;
    return true;
  }

  /** Passes spaces. */
  skipSpaces(): void {
    while (this.text[this.at] === ' ') this.at++;
  }

  /** Returns what is in front of a delimiter, and passes both; undefined if it does not follow. */
  until(delimiter: string): string | undefined {
    const end = this.text.indexOf(delimiter, this.at);
    if (end < 0) return undefined;
    const found = this.text.slice(this.at, end);
    this.at = end + delimiter.length;
    return found;
  }

  /** Returns the text up to a space or the end, and passes both. */
  word(): string {
    return this.until(' ') ?? this.rest();
  }

  /** Returns a text in double quotes, in which a backslash escapes the next character; undefined if there is none. */
  quoted(): string | undefined {
    if (this.text[this.at] !== '"') return undefined;
    const from = this.at + 1;
    let end = from;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === '\\' ? 2 : 1;
    if (end >= this.text.length) return undefined;
    this.at = end + 1;
    return this.text.slice(from, end);
  }

  /** Returns everything that is left, and passes it. */
  rest(): string {
    const found = this.text.slice(this.at);
    this.at = this.text.length;
    return found;
  }
}

/** Returns an integer of at most 15 digits; undefined for any other text. */
export function integerOfText(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? BigInt(text) : undefined;
}
