import { LinearRegex } from '../linear-regex.js';
import { byteCount, durationSeconds, goFloat } from '../units.js';
import { printDate } from './date-layout.js';
import {
  boundedText,
  intOf,
  isTrue,
  numberOf,
  TemplateFailure,
  TEMPLATE_CHARS_MAX,
  textOf,
  type TemplateValue,
} from './value.js';

/** A function of templates: number of arguments, and what it computes. */
export interface TemplateFunction {
  readonly least: number;
  readonly most: number;
  readonly call: (values: readonly TemplateValue[]) => TemplateValue;
}

type Call = TemplateFunction['call'];

const ARGUMENTS_MAX = 100;

const ofTexts = (count: number, call: (...texts: string[]) => TemplateValue): TemplateFunction => ({
  least: count,
  most: count,
  call: (values) => call(...values.map(textOf)),
});
const ofNumbers = (count: number, call: (...numbers: number[]) => TemplateValue): TemplateFunction => ({
  least: count,
  most: count,
  call: (values) => call(...values.map(numberOf)),
});
const ofMany = (call: Call, least = 1): TemplateFunction => ({ least, most: ARGUMENTS_MAX, call });

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
const productOf = (values: readonly number[]): number => values.reduce((product, value) => product * value, 1);

/** Compiled patterns of functions, by their text: a template names few. */
const PATTERNS_MAX = 200;
const patterns = new Map<string, LinearRegex>();

function patternOf(text: string): LinearRegex {
  let pattern = patterns.get(text);
  if (pattern === undefined) {
    pattern = new LinearRegex(text);
    if (patterns.size >= PATTERNS_MAX) patterns.clear();
    patterns.set(text, pattern);
  }
  return pattern;
}

function repeated(count: number, text: string): string {
  if (count * text.length > TEMPLATE_CHARS_MAX) {
    throw new TemplateFailure(`repeat makes more than ${TEMPLATE_CHARS_MAX} characters`);
  }
  return text.repeat(Math.max(0, count));
}

function trimmed(text: string, cutset: string, isLeft: boolean, isRight: boolean): string {
  const characters = new Set(cutset);
  const all = Array.from(text);
  let from = 0;
  let to = all.length;
  if (isLeft) while (from < to && characters.has(all[from])) from++;
  if (isRight) while (to > from && characters.has(all[to - 1])) to--;
  return all.slice(from, to).join('');
}

function aligned(width: number, text: string, isLeft: boolean): string {
  if (width > TEMPLATE_CHARS_MAX) throw new TemplateFailure('the width is too large');
  const characters = Array.from(text);
  if (characters.length >= width) {
    return (isLeft ? characters.slice(0, width) : characters.slice(characters.length - width)).join('');
  }
  return isLeft ? text + ' '.repeat(width - characters.length) : ' '.repeat(width - characters.length) + text;
}

function indented(width: number, text: string): string {
  const spaces = ' '.repeat(Math.min(Math.max(0, width), 1_000));
  return boundedText(spaces + text.replaceAll('\n', `\n${spaces}`));
}

function substring(from: number, to: number, text: string): string {
  if (from < 0) return text.slice(0, Math.max(0, to));
  return to < 0 || to > text.length ? text.slice(from) : text.slice(from, to);
}

function truncated(count: number, text: string): string {
  if (count < 0) return text.length > -count ? text.slice(count) : text;
  return text.slice(0, count);
}

const TEXTS: Readonly<Record<string, TemplateFunction>> = {
  lower: ofTexts(1, (text) => text.toLowerCase()),
  upper: ofTexts(1, (text) => text.toUpperCase()),
  title: ofTexts(1, (text) =>
    text.replaceAll(/(^|\s)(\S)/g, (_all, space: string, it: string) => space + it.toUpperCase()),
  ),
  trim: ofTexts(1, (text) => text.trim()),
  trimAll: ofTexts(2, (cutset, text) => trimmed(text, cutset, true, true)),
  trimPrefix: ofTexts(2, (prefix, text) => (text.startsWith(prefix) ? text.slice(prefix.length) : text)),
  trimSuffix: ofTexts(2, (end, text) => (end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text)),
  replace: ofTexts(3, (old, by, text) => replaced(text, old, by, -1)),
  contains: ofTexts(2, (part, text) => text.includes(part)),
  hasPrefix: ofTexts(2, (prefix, text) => text.startsWith(prefix)),
  hasSuffix: ofTexts(2, (end, text) => text.endsWith(end)),
  repeat: ofTexts(2, (count, text) => repeated(intOf(count), text)),
  substr: ofTexts(3, (from, to, text) => substring(intOf(from), intOf(to), text)),
  trunc: ofTexts(2, (count, text) => truncated(intOf(count), text)),
  indent: ofTexts(2, (width, text) => indented(intOf(width), text)),
  nindent: ofTexts(2, (width, text) => `\n${indented(intOf(width), text)}`),
  alignLeft: ofTexts(2, (width, text) => aligned(Math.max(0, intOf(width)), text, true)),
  alignRight: ofTexts(2, (width, text) => aligned(Math.max(0, intOf(width)), text, false)),
  default: ofTexts(2, (fallback, text) => (text === '' ? fallback : text)),
  b64enc: ofTexts(1, (text) => Buffer.from(text).toString('base64')),
  b64dec: ofTexts(1, (text) => Buffer.from(text, 'base64').toString()),
  urlencode: ofTexts(1, (text) => new URLSearchParams({ x: text }).toString().slice(2)),
  urldecode: ofTexts(1, (text) => new URLSearchParams(`x=${text.replaceAll('&', '%26')}`).get('x') ?? ''),
  regexReplaceAll: ofTexts(3, (pattern, text, by) => boundedText(patternOf(pattern).replaceAll(text, by, false))),
  regexReplaceAllLiteral: ofTexts(3, (pattern, text, by) => boundedText(patternOf(pattern).replaceAll(text, by, true))),
  count: ofTexts(2, (pattern, text) => patternOf(pattern).count(text)),
  bytes: ofTexts(1, (text) => byteCount(text) ?? 0),
  duration: ofTexts(1, (text) => durationSeconds(text) ?? 0),
  duration_seconds: ofTexts(1, (text) => durationSeconds(text) ?? 0),
  len: ofTexts(1, (text) => Buffer.byteLength(text)),
  // These have the order of arguments of Go's package strings.
  ToLower: ofTexts(1, (text) => text.toLowerCase()),
  ToUpper: ofTexts(1, (text) => text.toUpperCase()),
  Replace: ofTexts(4, (text, old, by, count) => replaced(text, old, by, intOf(count))),
  Trim: ofTexts(2, (text, cutset) => trimmed(text, cutset, true, true)),
  TrimLeft: ofTexts(2, (text, cutset) => trimmed(text, cutset, true, false)),
  TrimRight: ofTexts(2, (text, cutset) => trimmed(text, cutset, false, true)),
  TrimPrefix: ofTexts(2, (text, prefix) => (text.startsWith(prefix) ? text.slice(prefix.length) : text)),
  TrimSuffix: ofTexts(2, (text, end) => (end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text)),
  TrimSpace: ofTexts(1, (text) => text.trim()),
};

function replaced(text: string, old: string, by: string, count: number): string {
  if (count < 0 && text.length * (by.length + 1) <= TEMPLATE_CHARS_MAX) return text.replaceAll(old, () => by);
  const parts = text.split(old);
  const limit = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1);
  let out = parts[0];
  for (let i = 1; i < parts.length; i++) out = boundedText(out + (i <= limit ? by : old) + parts[i]);
  return out;
}

function rounded(values: readonly TemplateValue[]): number {
  const [value, digits, limit] = [numberOf(values[0]), intOf(values[1] ?? 0), numberOf(values[2] ?? 0.5)];
  const scale = 10 ** digits;
  const scaled = value * scale;
  const whole = Math.trunc(scaled);
  return (Math.abs(scaled - whole) >= limit ? whole + Math.sign(scaled) : whole) / scale;
}

function quotient(a: number, b: number): number {
  if (b === 0) throw new TemplateFailure('division by zero');
  return Math.trunc(a / b);
}

const NUMBERS: Readonly<Record<string, TemplateFunction>> = {
  int: ofNumbers(1, (value) => Math.trunc(value)),
  float64: ofNumbers(1, (value) => value),
  add: ofMany((values) => sumOf(values.map(intOf))),
  sub: ofNumbers(2, (a, b) => Math.trunc(a) - Math.trunc(b)),
  mul: ofMany((values) => productOf(values.map(intOf))),
  div: ofNumbers(2, (a, b) => quotient(Math.trunc(a), Math.trunc(b))),
  mod: ofNumbers(2, (a, b) => {
    if (Math.trunc(b) === 0) throw new TemplateFailure('division by zero');
    return Math.trunc(a) % Math.trunc(b);
  }),
  addf: ofMany((values) => sumOf(values.map(numberOf))),
  subf: ofMany((values) => values.slice(1).reduce<number>((rest, it) => rest - numberOf(it), numberOf(values[0]))),
  mulf: ofMany((values) => productOf(values.map(numberOf))),
  divf: ofMany((values) => values.slice(1).reduce<number>((rest, it) => rest / numberOf(it), numberOf(values[0]))),
  max: ofMany((values) => Math.max(...values.map(intOf))),
  min: ofMany((values) => Math.min(...values.map(intOf))),
  maxf: ofMany((values) => Math.max(...values.map(numberOf))),
  minf: ofMany((values) => Math.min(...values.map(numberOf))),
  ceil: ofNumbers(1, Math.ceil),
  floor: ofNumbers(1, Math.floor),
  round: { least: 1, most: 3, call: rounded },
};

function compared(a: TemplateValue, b: TemplateValue): number {
  const [x, y] = [typeof a === 'number' ? a : goFloat(textOf(a)), typeof b === 'number' ? b : goFloat(textOf(b))];
  const areNumbers = (typeof a === 'number' || typeof b === 'number') && x !== undefined && y !== undefined;
  if (areNumbers) return x === y ? 0 : x < y ? -1 : 1;
  const [left, right] = [textOf(a), textOf(b)];
  return left === right ? 0 : left < right ? -1 : 1;
}

const comparison = (test: (order: number) => boolean): TemplateFunction => ({
  least: 2,
  most: 2,
  call: ([a, b]) => test(compared(a, b)),
});

const LOGIC: Readonly<Record<string, TemplateFunction>> = {
  eq: ofMany(([first, ...others]) => others.some((other) => compared(first, other) === 0), 2),
  ne: comparison((order) => order !== 0),
  lt: comparison((order) => order < 0),
  le: comparison((order) => order <= 0),
  gt: comparison((order) => order > 0),
  ge: comparison((order) => order >= 0),
  and: ofMany((values) => values.find((value) => !isTrue(value)) ?? values.at(-1)!),
  or: ofMany((values) => values.find(isTrue) ?? values.at(-1)!),
  not: { least: 1, most: 1, call: ([value]) => !isTrue(value) },
};

function dateOf(value: TemplateValue): Date {
  return value instanceof Date ? value : new Date(numberOf(value));
}

const TIMES: Readonly<Record<string, TemplateFunction>> = {
  date: { least: 2, most: 2, call: ([layout, at]) => printDate(textOf(layout), dateOf(at)) },
  unixEpoch: { least: 1, most: 1, call: ([at]) => String(Math.floor(dateOf(at).getTime() / 1_000)) },
  unixEpochMillis: { least: 1, most: 1, call: ([at]) => String(dateOf(at).getTime()) },
  unixEpochNanos: { least: 1, most: 1, call: ([at]) => `${dateOf(at).getTime()}000000` },
  unixToTime: ofTexts(
    1,
    (text) =>
      new Date(Number(text.slice(0, 13).padEnd(text.length > 10 ? 13 : 10, '0')) * (text.length > 10 ? 1 : 1_000)),
  ),
};

const PRINTING: Readonly<Record<string, TemplateFunction>> = {
  print: ofMany((values) => boundedText(values.map(textOf).join('')), 0),
  printf: ofMany(([format, ...values]) => printed(textOf(format), values)),
};

function printed(format: string, values: readonly TemplateValue[]): string {
  let next = 0;
  const text = format.replaceAll(/%(-?)(0?)(\d{0,3})(?:\.(\d{1,2}))?([sdvqfx%])/g, (...groups: string[]) => {
    const [, left, zero, width, precision, verb] = groups;
    if (verb === '%') return '%';
    if (next >= values.length) return `%!${verb}(MISSING)`;
    const value = values[next++];
    const shown = verbText(verb, value, precision);
    if (left === '-') return shown.padEnd(Number(width));
    return shown.padStart(Number(width), zero === '0' ? '0' : ' ');
  });
  return boundedText(text);
}

function verbText(verb: string, value: TemplateValue, precision: string | undefined): string {
  switch (verb) {
    case 'd':
      return String(intOf(value));
    case 'f':
      return numberOf(value).toFixed(precision === undefined ? 6 : Math.min(20, Number(precision)));
    case 'q':
      return JSON.stringify(textOf(value));
    case 'x':
      return typeof value === 'number' ? intOf(value).toString(16) : Buffer.from(textOf(value)).toString('hex');
    default:
      return precision === undefined ? textOf(value) : textOf(value).slice(0, Number(precision));
  }
}

/** All functions by name. */
export const TEMPLATE_FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map(
  [TEXTS, NUMBERS, LOGIC, TIMES, PRINTING].flatMap((group) => Object.entries(group)),
);
