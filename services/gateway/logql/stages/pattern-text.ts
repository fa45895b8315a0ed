import { logqlRuleError } from '../syntax/error.js';

/** A part of a pattern: fixed text, or a capture; `_` drops what it captures. */
type PatternPart = { readonly literal: string } | { readonly capture: string };

const CAPTURE = /<([A-Za-z_][A-Za-z0-9_]*)>/g;
const PARTS_MAX = 200;

/** A text with captures: `<ip> - <_> "<method> <path>"`. */
export class PatternText {
  readonly #parts: readonly PatternPart[];

  /** @param isFilter whether it only matches; then it has no named captures. @throws `invalid_syntax`. */
  constructor(text: string, isFilter = false) {
    const parts: PatternPart[] = [];
    let at = 0;
    for (const match of text.matchAll(CAPTURE)) {
      if (match.index > at) parts.push({ literal: text.slice(at, match.index) });
      else if (parts.length > 0) throw invalid('found consecutive capture', text);
      parts.push({ capture: match[1] });
      at = match.index + match[0].length;
      if (parts.length > PARTS_MAX) throw invalid('too many captures', text);
    }
    if (at < text.length) parts.push({ literal: text.slice(at) });
    const names = parts.flatMap((part) => ('capture' in part && part.capture !== '_' ? [part.capture] : []));
    if (isFilter && names.length > 0) throw invalid('named captures are not allowed', text);
    if (!isFilter && names.length === 0) throw invalid('at least one capture is required', text);
    if (new Set(names).size < names.length) throw invalid('duplicate capture name', text);
    this.#parts = parts;
  }

  /** Visits the captures of a line that matches, as far as it does. */
  captures(line: string, visit: (name: string, value: string) => void): void {
    let at = 0;
    for (let i = 0; i < this.#parts.length; i++) {
      const part = this.#parts[i];
      if ('literal' in part) {
        if (!line.startsWith(part.literal, at)) return;
        at += part.literal.length;
        continue;
      }
      const next = this.#parts[i + 1];
      const end = next !== undefined && 'literal' in next ? line.indexOf(next.literal, at) : -1;
      if (part.capture !== '_') visit(part.capture, end < 0 ? line.slice(at) : line.slice(at, end));
      if (end < 0) return;
      at = end;
    }
  }

  /** Whether a line contains the fixed texts in their order, with something between them. */
  test(line: string): boolean {
    let at = 0;
    let isAnchored = true;
    const last = this.#parts.at(-1);
    for (const part of this.#parts) {
      if ('capture' in part) {
        isAnchored = false;
        continue;
      }
      const { literal } = part;
      let found = isAnchored ? at : line.indexOf(literal, at + 1);
      if (part === last && !isAnchored) found = line.length - literal.length;
      if (found < at || !line.startsWith(literal, found)) return false;
      at = found + literal.length;
      isAnchored = true;
    }
    return isAnchored ? at === line.length : at < line.length;
  }
}

function invalid(reason: string, text: string): Error {
  return logqlRuleError(`invalid pattern ${JSON.stringify(text.slice(0, 200))}: ${reason}`);
}
