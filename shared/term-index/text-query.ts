import { isWordByte, TermScanner, TERM_BYTES_MAX } from './term-scanner.js';

/** A text that is searched for. */
export interface Needle {
  readonly kind: 'needle';
  readonly text: string;
  /** Whether it must be delimited by other characters than letters and digits, as `matches_term` defines. */
  readonly isTerm: boolean;
  /** Whether the case of letters is ignored; `text` is in lower case then. */
  readonly folds: boolean;
}

/** A condition on one text. */
export type TextQuery =
  | Needle
  | { readonly kind: 'all' | 'any'; readonly parts: readonly TextQuery[] }
  | { readonly kind: 'not'; readonly part: TextQuery };

/** What the terms of a text must be for a needle to occur in it. */
export interface NeedleTerms {
  /** Terms that the text has. */
  readonly whole: readonly Uint8Array[];
  /**
   * If there are none, a fragment that is part of one term: its whole, beginning, end, or any part of it. Undefined: the needle
   * has no letters or digits of ASCII.
   */
  readonly fragment: Uint8Array | undefined;
  /** Whether every text with that term, or with a term that has the fragment, contains the needle. */
  readonly isExact: boolean;
}

/** Returns whether neighbours of a term's edges are compared: not within languages that are written without spaces. */
export function isDelimited({ text, isTerm }: Needle): boolean {
  return isTerm && !/\p{Script=Han}/u.test(text);
}

/** Returns what the terms of a text must be for a needle to occur in it. */
export function termsOf(needle: Needle): NeedleTerms {
  const bytes = Buffer.from(needle.text);
  const scanner = new TermScanner(needle.folds);
  scanner.scan(bytes, 0, bytes.length);
  const isBounded = isDelimited(needle);
  const whole: Uint8Array[] = [];
  let fragment: Uint8Array | undefined;
  for (let i = 0; i < scanner.count; i++) {
    const [start, end] = [scanner.starts[i], scanner.ends[i]];
    const term = bytes.subarray(start, end);
    const isWord = isWordByte(bytes[start]);
    // The index ignores the case of ASCII letters only.
    if (!isWord && needle.folds) continue;
    const isInside = start > 0 && end < bytes.length;
    if (!isWord || isBounded || isInside) whole.push(term);
    else if (fragment === undefined || term.length > fragment.length) fragment = term;
  }
  return { whole, fragment: whole.length === 0 ? fragment : undefined, isExact: isOneWord(bytes) };
}

/** Returns whether a needle is one term and nothing else, which is indexed whole. */
function isOneWord(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes.length < TERM_BYTES_MAX && bytes.every(isWordByte);
}
