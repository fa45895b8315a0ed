import type { DateParts } from './date-parts.js';

/** Reads a part of the text at `parts.at`. @returns whether the text fits. */
type FormatStep = (parts: DateParts) => boolean;

/** A compiled format. */
export interface DateFormat {
  /** Whether it reads an offset from UTC, or seconds since 1970. */
  readonly hasOffset: boolean;
  readonly steps: readonly FormatStep[];
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const WEEKDAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ');
const HALVES = ['am', 'pm'];

const SPACE = 0x20;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;

/** Specifiers that stand for several others. */
const COMPOSED: Readonly<Record<string, string>> = {
  D: '%m/%d/%y',
  x: '%m/%d/%y',
  F: '%Y-%m-%d',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  R: '%H:%M',
  v: '%e-%b-%Y',
  r: '%I:%M:%S %p',
  c: '%a %b %e %H:%M:%S %Y',
};

type NumberPart = {
  [K in keyof DateParts]: DateParts[K] extends number ? K : never;
}[keyof DateParts];

/** Specifiers of numbers: the part, and the greatest number of digits. */
const NUMBERS: Readonly<Record<string, readonly [NumberPart, number]>> = {
  m: ['month', 2],
  d: ['day', 2],
  e: ['day', 2],
  j: ['dayOfYear', 3],
  H: ['hour', 2],
  k: ['hour', 2],
  I: ['hour12', 2],
  l: ['hour12', 2],
  M: ['minute', 2],
  S: ['second', 2],
  V: ['isoWeek', 2],
  u: ['weekday', 1],
  f: ['nanos', 9],
};

const STEPS: Readonly<Record<string, FormatStep>> = {
  Y: (parts) => readYear(parts, 'year'),
  G: (parts) => readYear(parts, 'isoYear'),
  y: (parts) => {
    if (!readNumber(parts, 'year', 1, 2)) return false;
    parts.year += parts.year >= 70 ? 1900 : 2000;
    return true;
  },
  b: (parts) => readName(parts, 'month', MONTHS, 1),
  B: (parts) => readName(parts, 'month', MONTHS, 1),
  h: (parts) => readName(parts, 'month', MONTHS, 1),
  a: (parts) => readName(parts, 'weekday', WEEKDAYS, 1),
  A: (parts) => readName(parts, 'weekday', WEEKDAYS, 1),
  p: (parts) => readName(parts, 'half', HALVES, 0),
  P: (parts) => readName(parts, 'half', HALVES, 0),
  s: readUnixSeconds,
  z: (parts) => readOffset(parts, false),
  ':z': (parts) => readOffset(parts, false),
  '::z': (parts) => readOffset(parts, false),
  '#z': (parts) => readOffset(parts, true),
  Z: (parts) => {
    while (parts.at < parts.end && !isSpace(parts.bytes[parts.at])) parts.at++;
    return true;
  },
  '.f': (parts) => readFraction(parts, 0),
  '.3f': (parts) => readFraction(parts, 3),
  '.6f': (parts) => readFraction(parts, 6),
  '.9f': (parts) => readFraction(parts, 9),
  '3f': (parts) => readFractionDigits(parts, 3),
  '6f': (parts) => readFractionDigits(parts, 6),
  '9f': (parts) => readFractionDigits(parts, 9),
  // The letter between date and time in RFC 3339, which no format can name.
  ':t': (parts) => parts.at < parts.end && 'Tt '.includes(String.fromCharCode(parts.bytes[parts.at++])),
  '%': literal('%'),
  t: skipSpaces,
  n: skipSpaces,
};
const WITH_OFFSET = new Set(['z', ':z', '::z', '#z', 's', '+']);
const SPECIFIER = /^%(?:[-_0](?=[A-Za-z]))?(\.[369]?f|[369]f|::?z|:t|#z|[A-Za-z%+])/;

/** Compiles a format of strftime (spec: pipelines 4). Returns undefined if it has an unknown specifier. */
export function compileDateFormat(format: string): DateFormat | undefined {
  const steps: FormatStep[] = [];
  let hasOffset = false;
  let rest = expand(format);
  while (rest !== '') {
    const [token, name = ''] = SPECIFIER.exec(rest) ?? /^(?:\s+|[^%\s]+)/.exec(rest) ?? [''];
    if (token === '') return undefined;
    rest = rest.slice(token.length);
    hasOffset ||= WITH_OFFSET.has(name);
    const step = stepOf(token, name);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return { hasOffset, steps };
}

/** Replaces specifiers that stand for several others. */
function expand(format: string): string {
  return format.replace(/%(%|\+|[-_0]?[DxFTXRvrc])/g, (token, name: string) => {
    if (name === '+') return '%Y-%m-%d%:t%H:%M:%S%.f%#z';
    return COMPOSED[name.at(-1) ?? ''] ?? token;
  });
}

function stepOf(token: string, name: string): FormatStep | undefined {
  if (name === '') return /^\s/.test(token) ? skipSpaces : literal(token);
  if (Object.hasOwn(STEPS, name)) return STEPS[name];
  if (!Object.hasOwn(NUMBERS, name)) return undefined;
  const [part, digits] = NUMBERS[name];
  return (parts) => readNumber(parts, part, 1, digits);
}

/** Reads a text by a format. @returns whether the whole text fits; `parts` has what was read. */
export function readDate(format: DateFormat, parts: DateParts, bytes: Uint8Array, from: number, to: number): boolean {
  parts.start(bytes, from, to);
  const { steps } = format;
  for (let i = 0; i < steps.length; i++) if (!steps[i](parts)) return false;
  return parts.at === to;
}

function literal(text: string): FormatStep {
  const expected = Buffer.from(text);
  return (parts) => {
    const { bytes, at } = parts;
    if (parts.end - at < expected.length) return false;
    for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
    parts.at = at + expected.length;
    return true;
  };
}

function isSpace(byte: number): boolean {
  return byte === SPACE || (byte >= 0x09 && byte <= 0x0d);
}

function skipSpaces(parts: DateParts): boolean {
  while (parts.at < parts.end && isSpace(parts.bytes[parts.at])) parts.at++;
  return true;
}

/** Returns the digit at a position; -1 if there is none. */
function digitAt({ bytes, end }: DateParts, at: number): number {
  const digit = at < end ? bytes[at] - 0x30 : -1;
  return digit >= 0 && digit <= 9 ? digit : -1;
}

function readNumber(parts: DateParts, part: NumberPart, least: number, most: number): boolean {
  skipSpaces(parts);
  let value = 0;
  let count = 0;
  for (; count < most; count++) {
    const digit = digitAt(parts, parts.at);
    if (digit < 0) break;
    value = value * 10 + digit;
    parts.at++;
  }
  parts[part] = value;
  return count >= least;
}

function readYear(parts: DateParts, part: 'year' | 'isoYear'): boolean {
  skipSpaces(parts);
  const sign = parts.at < parts.end ? parts.bytes[parts.at] : 0;
  if (sign !== PLUS && sign !== MINUS) return readNumber(parts, part, 1, 4);
  parts.at++;
  // The calendar ends before the year 300,000.
  if (digitAt(parts, parts.at) < 0 || !readNumber(parts, part, 1, 6)) return false;
  if (sign === MINUS) parts[part] = -parts[part];
  return true;
}

function readUnixSeconds(parts: DateParts): boolean {
  skipSpaces(parts);
  const isNegative = parts.at < parts.end && parts.bytes[parts.at] === MINUS;
  if (isNegative) parts.at++;
  if (digitAt(parts, parts.at) < 0 || !readNumber(parts, 'unixSeconds', 1, 15)) return false;
  if (isNegative) parts.unixSeconds = -parts.unixSeconds;
  return true;
}

/** Reads a name in any letter case: the whole, or its first three letters. */
function readName(parts: DateParts, part: NumberPart, names: readonly string[], first: number): boolean {
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (!hasLetters(parts, name, 3)) continue;
    parts[part] = i + first;
    parts.at += name.length > 3 && hasLetters(parts, name, name.length) ? name.length : Math.min(3, name.length);
    return true;
  }
  return false;
}

/** Whether the text has the first letters of a name in lower case. */
function hasLetters({ bytes, at, end }: DateParts, name: string, count: number): boolean {
  const length = Math.min(count, name.length);
  if (end - at < length) return false;
  for (let i = 0; i < length; i++) if ((bytes[at + i] | 0x20) !== name.charCodeAt(i)) return false;
  return true;
}

/** Reads `+hh:mm`, with any colons or spaces between, or none. @param isLoose also `Z`, and hours alone. */
function readOffset(parts: DateParts, isLoose: boolean): boolean {
  skipSpaces(parts);
  const { bytes } = parts;
  const sign = parts.at < parts.end ? bytes[parts.at] : 0;
  if (isLoose && (sign | 0x20) === 0x7a) {
    parts.at++;
    parts.offset = 0;
    return true;
  }
  if (sign !== PLUS && sign !== MINUS) return false;
  parts.at++;
  const hours = readTwoDigits(parts);
  if (hours < 0) return false;
  while (parts.at < parts.end && (bytes[parts.at] === COLON || isSpace(bytes[parts.at]))) parts.at++;
  let minutes = readTwoDigits(parts);
  if (minutes < 0 && isLoose) minutes = 0;
  if (minutes < 0 || minutes > 59) return false;
  parts.offset = (sign === MINUS ? -1 : 1) * (hours * 3_600 + minutes * 60);
  return true;
}

/** Returns -1 if there are no two digits. */
function readTwoDigits(parts: DateParts): number {
  const [first, second] = [digitAt(parts, parts.at), digitAt(parts, parts.at + 1)];
  if (first < 0 || second < 0) return -1;
  parts.at += 2;
  return first * 10 + second;
}

/** Reads a dot and digits, or nothing. @param digits 0 for any number of them. */
function readFraction(parts: DateParts, digits: number): boolean {
  if (parts.at >= parts.end || parts.bytes[parts.at] !== DOT) return true;
  parts.at++;
  return readFractionDigits(parts, digits);
}

function readFractionDigits(parts: DateParts, digits: number): boolean {
  let nanos = 0;
  let count = 0;
  for (let digit = digitAt(parts, parts.at); digit >= 0; digit = digitAt(parts, parts.at)) {
    if (count === digits && digits > 0) break;
    if (count < 9) nanos = nanos * 10 + digit;
    count++;
    parts.at++;
  }
  if (count === 0 || (digits > 0 && count !== digits)) return false;
  for (let i = count; i < 9; i++) nanos *= 10;
  parts.nanos = nanos;
  return true;
}
