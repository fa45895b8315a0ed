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
export function parseKeyValues(text: string, form: KeyValueForm): Map<string, string | true> {
  const pairs = new Map<string, string | true>();
  eachKeyValue(text, form, (key, value) => pairs.set(key, value));
  return pairs;
}

/** Calls `visit` for each pair of key-value text; the value of a key without one is true. */
export function eachKeyValue(
  text: string,
  { valueSplit, fieldSplit, acceptsLoneKeys }: KeyValueForm,
  visit: (key: string, value: string | true) => void,
): void {
  const isBlank = fieldSplit.trim() === '';
  let at = 0;
  for (;;) {
    at = afterSeparators(text, at, fieldSplit, isBlank);
    if (at >= text.length) return;
    const keyFrom = at;
    at = text[at] === '"' ? quotedEnd(text, at) : keyEnd(text, at, valueSplit, fieldSplit);
    const key = unquoted(text.slice(keyFrom, at)).trim();
    if (!text.startsWith(valueSplit, at)) {
      if (acceptsLoneKeys && key !== '') visit(key, true);
      continue;
    }
    at += valueSplit.length;
    const valueFrom = at;
    at = text[at] === '"' ? quotedEnd(text, at) : endBefore(text, fieldSplit, at);
    if (key !== '') visit(key, unquoted(text.slice(valueFrom, at)));
  }
}

const BLANK = /\s/;

function afterSeparators(text: string, from: number, fieldSplit: string, isBlank: boolean): number {
  let at = from;
  if (isBlank) while (at < text.length && BLANK.test(text[at])) at++;
  else while (text.startsWith(fieldSplit, at)) at += fieldSplit.length;
  return at;
}

/** Returns where a key ends: at either delimiter, or the end. */
function keyEnd(text: string, from: number, valueSplit: string, fieldSplit: string): number {
  let at = from;
  while (at < text.length && !text.startsWith(valueSplit, at) && !text.startsWith(fieldSplit, at)) at++;
  return at;
}

function endBefore(text: string, delimiter: string, from: number): number {
  const found = text.indexOf(delimiter, from);
  return found < 0 ? text.length : found;
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
