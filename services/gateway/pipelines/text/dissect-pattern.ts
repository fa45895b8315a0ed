import { buildError } from '../build-error.js';

/** A name of a pattern, and the text after it. */
export interface DissectName {
  /** Empty: the value is skipped. */
  readonly name: string;
  /** `+`: appended to others of the name; `*` and `&`: the key and the value of a pair. */
  readonly modifier: '' | '+' | '*' | '&';
  /** Order among the values that are appended. */
  readonly order: number;
  /** Whether repetitions of the first character of the delimiter are skipped. */
  readonly skipsPadding: boolean;
  /** Text that follows the value; empty if the value reaches to the end. */
  readonly delimiter: Buffer;
  /** First character of the delimiter, where the value ends. */
  readonly stop: Buffer;
}

/** A dissect pattern (spec: pipelines 3.3). */
export interface DissectPattern {
  /** Text in front of the first name. */
  readonly start: Buffer;
  readonly names: readonly DissectName[];
}

const TOKEN = /%\{([^}]*)(\}?)|%(?!\{)|[^%]+/gy;

/** Compiles a pattern. @throws `invalid_arguments` if it is malformed. */
export function compileDissect(source: string): DissectPattern {
  const fail = (reason: string): Error => {
    return buildError(`Field parse from string failed: pattern: Invalid Pattern: '${source}'. ${reason}`);
  };
  if (source === '') throw fail('Empty pattern is not allowed');
  let start = '';
  const names: { key: Omit<DissectName, 'delimiter' | 'stop'>; delimiter: string }[] = [];
  for (const [token, inner, close] of source.matchAll(TOKEN)) {
    const last = names.at(-1);
    if (inner === undefined) {
      if (last === undefined) start += token;
      else last.delimiter += token;
      continue;
    }
    if (close === '') throw fail(`'${inner}' is not closed`);
    const key = parseName(inner, fail);
    if (last?.delimiter === '') throw fail(`consecutive names are not allowed: '${last.key.name}' '${key.name}'`);
    names.push({ key, delimiter: '' });
  }
  checkPairs(
    names.map(({ key }) => key),
    fail,
  );
  return {
    start: Buffer.from(start),
    names: names.map(({ key, delimiter }) => {
      return { ...key, delimiter: Buffer.from(delimiter), stop: Buffer.from(firstCharacter(delimiter)) };
    }),
  };
}

function parseName(inner: string, fail: (reason: string) => Error): Omit<DissectName, 'delimiter' | 'stop'> {
  const skipsPadding = inner.endsWith('->');
  let rest = skipsPadding ? inner.slice(0, -2) : inner;
  const modifier = (/^[+*&?]/.exec(rest)?.[0] ?? '') as DissectName['modifier'] | '?';
  rest = rest.slice(modifier.length);
  if (modifier !== '' && modifier !== '?' && rest === '') throw fail(`only '${modifier}' modifier is invalid`);
  let order = 0;
  const slash = modifier === '+' ? rest.indexOf('/') : -1;
  if (slash >= 0) {
    const digits = rest.slice(slash + 1);
    if (!/^\d{1,9}$/.test(digits)) throw fail("Digit order must be set after '/'");
    order = Number(digits);
    rest = rest.slice(0, slash);
  }
  const valid = /^[\p{L}\p{N}_]*/u.exec(rest)?.[0] ?? '';
  if (valid.length < rest.length) {
    const letter = firstCharacter(rest.slice(valid.length));
    throw fail(letter === '-' ? "Expected '->' but only '-'" : `Invalid '${letter}' in '${valid}'`);
  }
  if (modifier === '?') return { name: '', modifier: '', order, skipsPadding };
  return { name: rest, modifier, order, skipsPadding };
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(...[text.codePointAt(0)].filter((it) => it !== undefined));
}

/** Each key of a pair needs its value, and the other way around. */
function checkPairs(names: readonly Pick<DissectName, 'name' | 'modifier'>[], fail: (reason: string) => Error): void {
  const of = (modifier: string): string[] => {
    return names.filter((it) => it.modifier === modifier).map(({ name }) => name);
  };
  const [keys, values] = [of('*'), of('&')];
  const alone = [...keys.filter((it) => !values.includes(it)), ...values.filter((it) => !keys.includes(it))];
  if (alone.length > 0) throw fail(`key and value not matched: '${alone.join(',')}'`);
}

/** Values of a text: positions by name. */
export class DissectMatch {
  readonly from: number[] = [];
  readonly to: number[] = [];

  /** Splits `bytes[from, to)`. @returns whether the text fits the pattern. */
  read({ start, names }: DissectPattern, bytes: Buffer, from: number, to: number): boolean {
    if (!hasAt(bytes, from, to, start)) return false;
    let at = from + start.length;
    for (let i = 0; i < names.length; i++) {
      const { delimiter, stop, skipsPadding } = names[i];
      let end = to;
      if (delimiter.length > 0) {
        end = indexOf(bytes, stop, at, to);
        if (end < 0) return false;
      }
      this.from[i] = at;
      this.to[i] = end;
      if (skipsPadding) while (hasAt(bytes, end + stop.length, to, stop) && stop.length > 0) end += stop.length;
      if (!hasAt(bytes, end, to, delimiter)) return false;
      at = end + delimiter.length;
    }
    return true;
  }
}

function hasAt(bytes: Buffer, at: number, end: number, expected: Buffer): boolean {
  if (end - at < expected.length) return false;
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
  return true;
}

/** Values are short: a loop finds their end sooner than a call of the platform. */
function indexOf(bytes: Buffer, stop: Buffer, from: number, end: number): number {
  const first = stop[0];
  for (let at = from; at < end; at++) {
    if (bytes[at] === first && (stop.length === 1 || hasAt(bytes, at, end, stop))) return at;
  }
  return -1;
}
