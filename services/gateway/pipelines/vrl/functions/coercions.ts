import { setTimeOfCount } from '../../processors/epoch-time.js';
import { floatOf } from '../../transform/coerce.js';
import { timeUnit } from '../../transform/time-unit.js';
import { Timestamp, timeCountOf } from '../../values/timestamp.js';
import { INT64_MAX, INT64_MIN, printValue, type PipelineValue } from '../../values/value.js';
import { ScriptFailure } from '../machine.js';
import { Kinds, type ScriptType } from '../types.js';
import { defineFunctions } from './script-function.js';
import { Item, KeySlots } from '../../item.js';

const SCALARS = Kinds.string | Kinds.integer | Kinds.float | Kinds.boolean | Kinds.timestamp | Kinds.null;
const TRUE = new Set(['true', 't', 'yes', 'y', '1']);
const FALSE = new Set(['false', 'f', 'no', 'n', '0', '']);
const NUMBER_UNITS: Readonly<Record<string, 's' | 'ms' | 'us' | 'ns'>> = {
  seconds: 's',
  milliseconds: 'ms',
  microseconds: 'us',
  nanoseconds: 'ns',
};
const DURATION = /(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|cs|ds|s|m|h|d|w)/g;
const DURATION_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  cs: 1e7,
  ds: 1e8,
  s: 1e9,
  m: 6e10,
  h: 3.6e12,
  d: 8.64e13,
  w: 6.048e14,
};

/** Only these kinds of a value always convert. */
function unless(kinds: number): (types: readonly (ScriptType | undefined)[]) => boolean {
  return ([type]) => type === undefined || (type.kinds & ~kinds) !== 0;
}

function toInteger(given: PipelineValue): bigint {
  switch (typeof given) {
    case 'bigint':
      return given;
    case 'number':
      return integerOf(Math.trunc(given));
    case 'boolean':
      return given ? 1n : 0n;
    case 'string': {
      const value = /^\s*[+-]?\d{1,19}\s*$/.test(given) ? BigInt(given.trim().replace(/^\+/, '')) : undefined;
      if (value !== undefined && value >= INT64_MIN && value <= INT64_MAX) return value;
      throw new ScriptFailure(`Invalid integer "${given}": invalid digit found in string`);
    }
    default:
      return given instanceof Timestamp ? BigInt(given.seconds) : 0n;
  }
}

/** Returns the integer of a float. @throws `ScriptFailure` beyond 64 bits. */
export function integerOf(value: number): bigint {
  if (Math.abs(value) < 2 ** 63) return BigInt(value);
  throw new ScriptFailure(`${value} is out of range for an integer`);
}

function toFloat(given: PipelineValue): number {
  if (typeof given === 'string') {
    const value = floatOf(given.trim());
    if (value !== undefined && !Number.isNaN(value)) return value;
    throw new ScriptFailure(`Invalid floating point number "${given}": invalid float literal`);
  }
  if (given instanceof Timestamp) return given.seconds + given.nanos / 1e9;
  return Number(given);
}

function toBoolean(given: PipelineValue): boolean {
  if (typeof given !== 'string') return given instanceof Timestamp || Number(given) !== 0;
  const text = given.toLowerCase();
  if (TRUE.has(text) || FALSE.has(text)) return TRUE.has(text);
  throw new ScriptFailure(`Invalid boolean value "${given}"`);
}

function fromUnix(count: bigint, unitName: string): Timestamp {
  const item = new Item(new KeySlots(['time']));
  const unit = NUMBER_UNITS[unitName] ?? timeUnit(unitName);
  if (unit === undefined) throw new ScriptFailure(`unknown unit "${unitName}"`);
  if (!setTimeOfCount(item, 0, count, unit)) throw new ScriptFailure(`unable to coerce ${count} into timestamp`);
  return item.get(0) as Timestamp;
}

function durationNs(text: string): number {
  let total = 0;
  const rest = text.replace(DURATION, (_all, count: string, unit: string) => {
    total += Number(count) * DURATION_NS[unit];
    return '';
  });
  if (rest.trim() !== '' || text.trim() === '') throw new ScriptFailure(`unable to parse duration: '${text}'`);
  return total;
}

function parseInteger(text: string, base: number | undefined): bigint {
  const match = /^([+-]?)(0[xX]|0[oO]|0[bB]|0(?=[0-7]))?([0-9a-zA-Z]+)$/.exec(text);
  if (match === null) throw new ScriptFailure(`could not parse integer: ${text}`);
  const [, sign, prefix, digits] = match;
  const radix = base ?? { '0x': 16, '0o': 8, '0b': 2, '0': 8 }[(prefix ?? '').toLowerCase()] ?? 10;
  let value = 0n;
  for (const letter of base === undefined ? digits : (prefix ?? '') + digits) {
    const digit = parseInt(letter, 36);
    if (!(digit < radix) || digits.length > 64) throw new ScriptFailure(`could not parse integer: ${text}`);
    value = value * BigInt(radix) + BigInt(digit);
  }
  const signed = sign === '-' ? -value : value;
  if (signed < INT64_MIN || signed > INT64_MAX) throw new ScriptFailure(`could not parse integer: ${text}`);
  return signed;
}

const value = { name: 'value', kinds: SCALARS };
const text = { name: 'value', kinds: Kinds.string };
const unit = { name: 'unit', kinds: Kinds.string, isOptional: true };

/** Functions that convert scalars. */
export const COERCIONS = defineFunctions([
  {
    name: 'to_int',
    parameters: [value],
    returns: Kinds.integer,
    canFail: unless(Kinds.integer | Kinds.boolean | Kinds.null | Kinds.timestamp),
    run: ([given]) => toInteger(given as PipelineValue),
  },
  {
    name: 'to_float',
    parameters: [value],
    returns: Kinds.float,
    canFail: unless(Kinds.number | Kinds.boolean | Kinds.null | Kinds.timestamp),
    run: ([given]) => toFloat(given as PipelineValue),
  },
  {
    name: 'to_bool',
    parameters: [value],
    returns: Kinds.boolean,
    canFail: unless(Kinds.number | Kinds.boolean | Kinds.null | Kinds.timestamp),
    run: ([given]) => toBoolean(given as PipelineValue),
  },
  {
    name: 'to_string',
    parameters: [value],
    returns: Kinds.string,
    canFail: false,
    run: ([given = null]) => (given === null ? '' : printValue(given as PipelineValue)),
  },
  {
    name: 'to_unix_timestamp',
    parameters: [{ name: 'value', kinds: Kinds.timestamp }, unit],
    returns: Kinds.integer,
    canFail: ([, given]) => given !== undefined,
    run: ([given, unitName = 'seconds']) => {
      const wanted = NUMBER_UNITS[unitName as string];
      if (wanted === undefined) throw new ScriptFailure(`unknown unit "${unitName as string}"`);
      return timeCountOf((given as Timestamp).ns, wanted);
    },
  },
  {
    name: 'from_unix_timestamp',
    parameters: [{ name: 'value', kinds: Kinds.integer }, unit],
    returns: Kinds.timestamp,
    canFail: true,
    run: ([given, unitName = 'seconds']) => fromUnix(given as bigint, unitName as string),
  },
  {
    name: 'parse_int',
    parameters: [text, { name: 'base', kinds: Kinds.integer, isOptional: true }],
    returns: Kinds.integer,
    canFail: true,
    run: ([given, base]) => parseInteger(given as string, base === undefined ? undefined : Number(base)),
  },
  {
    name: 'parse_float',
    parameters: [text],
    returns: Kinds.float,
    canFail: true,
    run: ([given]) => toFloat(given as string),
  },
  {
    name: 'parse_duration',
    parameters: [text, { name: 'unit', kinds: Kinds.string }],
    returns: Kinds.float,
    canFail: true,
    run: ([given, unitName]) => {
      const divisor = DURATION_NS[unitName as string];
      if (divisor === undefined) throw new ScriptFailure(`unknown unit format: '${unitName as string}'`);
      return durationNs(given as string) / divisor;
    },
  },
]);
