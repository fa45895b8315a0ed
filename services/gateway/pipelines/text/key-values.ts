/** How key-value text is written. */
export interface KeyValueForm {
  /** Text between key and value. */
  readonly valueSplit: string;
  /** Text between pairs; spaces stand for any run of them. */
  readonly fieldSplit: string;
  /** Whether a key without a value is true; otherwise it is left out. */
  readonly acceptsLoneKeys: boolean;
}

/** The form of logfmt. */
export const LOGFMT: KeyValueForm = { valueSplit: '=', fieldSplit: ' ', acceptsLoneKeys: true };

/**
 * Splits key-value text such as `level=warn msg="a b"`. In double quotes, a backslash escapes the next character. Later
 * pairs with the same key win.
 */
export function parseKeyValues(
  text: string,
  { valueSplit, fieldSplit, acceptsLoneKeys }: KeyValueForm,
): Map<string, string | true> {
  const pairs = new Map<string, string | true>();
  let at = 0;
  const endOf = (delimiters: readonly string[], from: number): number => {
    let end = from;
    while (end < text.length && !delimiters.some((it) => text.startsWith(it, end))) end++;
    return end;
  };
  const isBlank = fieldSplit.trim() === '';
  while (at < text.length) {
    while (text.startsWith(fieldSplit, at) || (isBlank && /\s/.test(text.charAt(at)))) {
      at += isBlank ? 1 : fieldSplit.length;
    }
    if (at >= text.length) break;
    const keyEnd = text[at] === '"' ? quotedEnd(text, at) : endOf([valueSplit, fieldSplit], at);
    const key = unquoted(text.slice(at, keyEnd)).trim();
    at = keyEnd;
    if (!text.startsWith(valueSplit, at)) {
      if (acceptsLoneKeys && key !== '') pairs.set(key, true);
      if (keyEnd === at && !text.startsWith(fieldSplit, at)) at++;
      continue;
    }
    at += valueSplit.length;
    const valueEnd = text[at] === '"' ? quotedEnd(text, at) : endOf([fieldSplit], at);
    if (key !== '') pairs.set(key, unquoted(text.slice(at, valueEnd)));
    at = valueEnd;
  }
  return pairs;
}

/** Returns the position after the closing quote; the end if there is none. */
function quotedEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at + 1, text.length);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  const inner = text.endsWith('"') && text.length > 1 ? text.slice(1, -1) : text.slice(1);
  return inner.replace(/\\([^])/g, (_escape, letter: string) => ESCAPES[letter] ?? letter);
}
