import { quotedText } from '../../../data/quote.js';

/** What the values of a column are, as far as their texts matter. */
type ValueKind = 'text' | 'boolean' | 'integer' | 'number' | 'time' | 'date';

/** The types that a column of a new table can have, with a name for people. */
export const CSV_TYPES = {
  STRING: 'text',
  BOOLEAN: 'true or false',
  BIGINT: 'whole number',
  DOUBLE: 'number',
  'TIMESTAMP(0)': 'time, seconds',
  'TIMESTAMP(3)': 'time, milliseconds',
  'TIMESTAMP(6)': 'time, microseconds',
  'TIMESTAMP(9)': 'time, nanoseconds',
} as const;

/** A type of a column of a new table. */
export type CsvType = keyof typeof CSV_TYPES;

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:[.,]\d{1,9})?)?)? ?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
const INTEGER = /^[+-]?\d{1,20}$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const SPECIAL_NUMBERS: ReadonlyMap<string, string> = new Map([
  ['nan', 'NaN'],
  ...['inf', '+inf', 'infinity', '+infinity'].map((text) => [text, 'Infinity'] as const),
  ...['-inf', '-infinity'].map((text) => [text, '-Infinity'] as const),
]);
const BOOLEANS: ReadonlyMap<string, string> = new Map([
  ...['true', 't', 'yes', '1'].map((text) => [text, 'true'] as const),
  ...['false', 'f', 'no', '0'].map((text) => [text, 'false'] as const),
]);
/** Larger numbers of a unit are times of the next finer one: years 5138 in seconds, 1973 in the next. */
const EPOCHS: readonly (readonly [bigint, CsvType])[] = [
  [100_000_000_000n, 'TIMESTAMP(0)'],
  [100_000_000_000_000n, 'TIMESTAMP(3)'],
  [100_000_000_000_000_000n, 'TIMESTAMP(6)'],
];
/** Earlier whole numbers are more likely counts than seconds: 2000-01-01. */
const EPOCH_SECONDS_MIN = 946_684_800n;

/** Returns the narrowest type of all texts; '' counts as null. A column without texts is one of texts. */
export function guessType(texts: readonly string[]): CsvType {
  const given = texts.map((text) => text.trim()).filter((text) => text !== '');
  if (given.length === 0) return 'STRING';
  if (given.every((text) => /^(true|false)$/i.test(text))) return 'BOOLEAN';
  if (given.every((text) => INTEGER.test(text) && isWithin(text, 64, true))) return 'BIGINT';
  if (given.every((text) => NUMBER.test(text) || SPECIAL_NUMBERS.has(text.toLowerCase()))) return 'DOUBLE';
  if (!given.every((text) => timeText(text) !== undefined)) return 'STRING';
  const digits = Math.max(...given.map((text) => /[.,](\d+)/.exec(text)?.[1].length ?? 0));
  if (digits > 6) return 'TIMESTAMP(9)';
  return digits > 3 ? 'TIMESTAMP(6)' : 'TIMESTAMP(3)';
}

/** Returns the type of times that whole numbers since 1970 have, by their size; undefined if they are too small for times. */
export function guessEpoch(texts: readonly string[]): CsvType | undefined {
  const given = texts.map((text) => text.trim()).filter((text) => text !== '');
  if (given.length === 0 || !given.every((text) => INTEGER.test(text))) return undefined;
  const numbers = given.map((text) => BigInt(text));
  if (numbers.some((number) => number < EPOCH_SECONDS_MIN)) return undefined;
  const largest = numbers.reduce((max, number) => (number > max ? number : max));
  return EPOCHS.find(([end]) => largest < end)?.[1] ?? 'TIMESTAMP(9)';
}

/** Whether a type, of SQL or of the schema, is one of times. */
export function isTimeType(type: string): boolean {
  return kindOf(type) === 'time';
}

/**
 * Returns a text of a file as a value in SQL: `NULL` for an empty one, undefined if the type has no such value.
 *
 * @param type of SQL (`BIGINT`) or of the schema (`Int64`).
 */
export function sqlValue(text: string, type: string): string | undefined {
  const kind = kindOf(type);
  if (kind === 'text') return text === '' ? 'NULL' : quotedText(text);
  const trimmed = text.trim();
  if (trimmed === '') return 'NULL';
  switch (kind) {
    case 'boolean':
      return BOOLEANS.get(trimmed.toLowerCase());
    case 'integer':
      return integerText(trimmed, type);
    case 'number':
      return numberText(trimmed, type);
    case 'date':
      return /^\d{4}-\d\d-\d\d$/.test(trimmed) && timeText(trimmed) !== undefined ? quotedText(trimmed) : undefined;
    case 'time':
      if (INTEGER.test(trimmed)) return integerText(trimmed, 'Int64');
      return optional(timeText(trimmed));
  }
}

function optional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : quotedText(text);
}

function kindOf(type: string): ValueKind {
  if (/^timestamp|^datetime/i.test(type)) return 'time';
  if (/^date/i.test(type)) return 'date';
  if (/^bool/i.test(type)) return 'boolean';
  if (/^u?int|^(big|small|tiny)int/i.test(type)) return 'integer';
  return /^float|^double|^decimal/i.test(type) ? 'number' : 'text';
}

function integerText(text: string, type: string): string | undefined {
  if (!INTEGER.test(text)) return undefined;
  return isWithin(text, bitsOf(type), !/^u|unsigned/i.test(type)) ? String(BigInt(text.replace(/^\+/, ''))) : undefined;
}

/** Returns the size of `Int16`, `smallint unsigned` and the like. */
function bitsOf(type: string): number {
  const named = /^u?int(\d+)/i.exec(type)?.[1];
  if (named !== undefined) return Number(named);
  if (/^tiny/i.test(type)) return 8;
  if (/^small/i.test(type)) return 16;
  return /^big/i.test(type) ? 64 : 32;
}

function isWithin(text: string, bits: number, isSigned: boolean): boolean {
  const value = BigInt(text.replace(/^\+/, ''));
  return (isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)) === value;
}

function numberText(text: string, type: string): string | undefined {
  if (NUMBER.test(text)) {
    if (/^decimal/i.test(type)) return quotedText(text);
    return Number.isFinite(Number(text)) ? String(Number(text)) : undefined;
  }
  const special = SPECIAL_NUMBERS.get(text.toLowerCase());
  return special === undefined || /^decimal/i.test(type) ? undefined : quotedText(special);
}

/** Returns a time as the server reads it; undefined if it is none. */
function timeText(text: string): string | undefined {
  const parts = TIME.exec(text);
  if (parts === null) return undefined;
  const [, day, minute = '00:00', second = ':00', offset = ''] = parts;
  const zone = /^[+-]\d\d$/.test(offset) ? `${offset}:00` : offset.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2').toUpperCase();
  const time = new Date(`${day}T${minute}${second.replace(',', '.').slice(0, 7)}${zone || 'Z'}`);
  if (Number.isNaN(time.getTime()) || !isRealDay(day)) return undefined;
  return `${day} ${minute}${second.replace(',', '.')}${zone}`;
}

/** Some browsers take the 30th of February for a day of March. */
function isRealDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
