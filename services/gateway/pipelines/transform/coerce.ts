import type { DataType } from '#shared/schema/data-type';

import { Held, type Item } from '../item.js';
import { printFloat } from '../values/float-text.js';
import { printValue, shortened } from '../values/value.js';
import type { ColumnCell } from './cell.js';
import { typeLabel } from './column-type.js';
import { PER_SECOND } from './time-unit.js';

/** The outcome of a coercion; the numbers are those of `failureText`. */
export const Coercion = {
  done: 0,
  /** The value is not one of the type: `on_failure` decides. */
  misfit: 1,
  /** A value that is no time, for a column of times: `on_failure: ignore` decides. */
  notATime: 2,
  /** No value of this kind is one of the type. */
  refused: 3,
} as const;
/** The outcome of a coercion. */
export type Coercion = (typeof Coercion)[keyof typeof Coercion];

/** Stores the value of a field of an item in a cell, as a type. */
export type Coerce = (item: Item, slot: number, cell: ColumnCell) => Coercion;

const INT64_DIGITS_EXACT = 15;
const DIGIT_0 = 0x30;
const PLUS = 0x2b;
const MINUS = 0x2d;
const FLOAT = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)$/i;

/** Returns the coercion to a type (spec: pipelines 5.2). */
export function coercionTo(type: DataType): Coerce {
  if (type.timeUnit !== undefined) return timeCoercion(type);
  switch (type.name) {
    case 'String':
      return toText;
    case 'Boolean':
      return toBoolean;
    case 'Json':
      return toJson;
    case 'Float32':
    case 'Float64':
      return toFloat;
    default:
      return integerCoercion(type);
  }
}

/** Returns the text of the error for a value that a type does not take. */
export function failureText(item: Item, slot: number, type: DataType, outcome: Coercion): string {
  const value = item.get(slot) ?? null;
  const isText = typeof value === 'string';
  const label = type.name === 'Json' ? 'BINARY' : typeLabel(type);
  if (outcome === Coercion.notATime) {
    const kind = isText ? 'String' : typeof value === 'number' ? 'Float' : 'Boolean';
    const hint = isText ? ': read it by the processor date or epoch' : '';
    return `Type: ${kind} value not supported for Epoch${hint}`;
  }
  if (isText) return `Failed to coerce string value '${shortened(value)}' to type '${label}'`;
  if (outcome === Coercion.misfit) {
    const kind = typeof value === 'number' ? 'float' : 'integer';
    return `${kind} value \`${printValue(value)}\` is out of range for ${label}`;
  }
  if (item.kinds[slot] === Held.timestamp) return `Failed to coerce value: ${printValue(value)} to type '${label}'`;
  if (type.name === 'Json') return `Can not coerce json type to ${label}`;
  return `Can not coerce ${label} to json type. Objects and arrays need a column of type json`;
}

function toText(item: Item, slot: number, cell: ColumnCell): Coercion {
  switch (item.kinds[slot]) {
    case Held.bytes:
    case Held.text:
      cell.setTextOf(item, slot);
      return Coercion.done;
    case Held.boolean:
      cell.setText(item.low[slot] === 1 ? 'true' : 'false');
      return Coercion.done;
    case Held.integer:
    case Held.bigint:
      cell.setText(String(item.integer(slot)));
      return Coercion.done;
    case Held.float:
      cell.setText(printFloat(item.low[slot]));
      return Coercion.done;
    default:
      return Coercion.refused;
  }
}

function toBoolean(item: Item, slot: number, cell: ColumnCell): Coercion {
  switch (item.kinds[slot]) {
    case Held.boolean:
    case Held.integer:
    case Held.float:
      cell.setNumber(item.low[slot] === 0 ? 0 : 1);
      return Coercion.done;
    case Held.bigint:
      cell.setNumber(1);
      return Coercion.done;
    case Held.bytes:
    case Held.text: {
      const text = item.text(slot);
      cell.setNumber(text === 'true' ? 1 : 0);
      return text === 'true' || text === 'false' ? Coercion.done : Coercion.misfit;
    }
    default:
      return Coercion.refused;
  }
}

function toJson(item: Item, slot: number, cell: ColumnCell): Coercion {
  const kind = item.kinds[slot];
  if (kind !== Held.tree && kind !== Held.json) return Coercion.refused;
  cell.setText(item.json(slot));
  return Coercion.done;
}

function toFloat(item: Item, slot: number, cell: ColumnCell): Coercion {
  switch (item.kinds[slot]) {
    case Held.boolean:
    case Held.integer:
    case Held.float:
      cell.setNumber(item.low[slot]);
      return Coercion.done;
    case Held.bigint:
      cell.setNumber(Number(item.other[slot]));
      return Coercion.done;
    case Held.bytes:
    case Held.text: {
      const value = floatOf(item.text(slot));
      cell.setNumber(value ?? 0);
      return value === undefined ? Coercion.misfit : Coercion.done;
    }
    default:
      return Coercion.refused;
  }
}

/** Returns the float of a text; undefined if it is none. */
export function floatOf(text: string): number | undefined {
  if (!FLOAT.test(text)) return undefined;
  const value = Number(text);
  if (!Number.isNaN(value)) return value;
  if (/n$/i.test(text)) return NaN;
  return text.startsWith('-') ? -Infinity : Infinity;
}

function integerCoercion({ min = 0n, max = 0n }: DataType): Coerce {
  // These two are inexact for 64 bits, where values that are near the limits are compared as bigints.
  const [least, most] = [Number(min), Number(max)];
  const isIn = (value: number): boolean => Number.isSafeInteger(value) && value >= least && value <= most;
  const setBig = (cell: ColumnCell, value: bigint): Coercion => {
    if (value < min || value > max) return Coercion.misfit;
    cell.setBigInt(value);
    return Coercion.done;
  };
  const setNumber = (cell: ColumnCell, value: number): Coercion => {
    if (!isIn(value)) return Number.isFinite(value) ? setBig(cell, BigInt(value)) : Coercion.misfit;
    cell.setNumber(value);
    return Coercion.done;
  };
  return (item, slot, cell) => {
    switch (item.kinds[slot]) {
      case Held.boolean:
      case Held.integer:
        return setNumber(cell, item.low[slot]);
      case Held.bigint:
        return setBig(cell, item.other[slot] as bigint);
      case Held.float:
        return setNumber(cell, Math.trunc(item.low[slot]));
      case Held.bytes:
      case Held.text: {
        const value = integerOf(item.toBytes(slot), item.low[slot], item.high[slot]);
        if (value === undefined || (least === 0 && isNegativeText(item, slot))) return Coercion.misfit;
        return typeof value === 'number' ? setNumber(cell, value) : setBig(cell, value);
      }
      default:
        return Coercion.refused;
    }
  };
}

function isNegativeText(item: Item, slot: number): boolean {
  return (item.other[slot] as Buffer)[item.low[slot]] === MINUS;
}

/** Returns the integer of a decimal text with an optional sign; undefined if it is none. */
function integerOf(bytes: Buffer, from: number, to: number): number | bigint | undefined {
  const isNegative = bytes[from] === MINUS;
  const start = isNegative || bytes[from] === PLUS ? from + 1 : from;
  if (start >= to) return undefined;
  let value = 0;
  for (let at = start; at < to; at++) {
    const digit = bytes[at] - DIGIT_0;
    if (!(digit >= 0 && digit <= 9)) return undefined;
    value = value * 10 + digit;
  }
  if (to - start > INT64_DIGITS_EXACT) {
    if (to - start > 64) return undefined;
    const exact = BigInt(bytes.toString('latin1', start, to));
    return isNegative ? -exact : exact;
  }
  return isNegative ? 0 - value : value;
}

function timeCoercion({ timeUnit = 'ns', min = 0n, max = 0n }: DataType): Coerce {
  const perSecond = PER_SECOND[timeUnit];
  const perCount = 1_000_000_000 / perSecond;
  const setBig = (cell: ColumnCell, count: bigint): Coercion => {
    if (count < min || count > max) return Coercion.misfit;
    cell.setBigInt(count);
    return Coercion.done;
  };
  return (item, slot, cell) => {
    switch (item.kinds[slot]) {
      case Held.integer:
      case Held.bigint:
        return setBig(cell, BigInt(item.integer(slot)));
      case Held.timestamp: {
        const part = Math.floor(item.high[slot] / perCount);
        const count = item.low[slot] * perSecond + part;
        if (!Number.isSafeInteger(count)) {
          return setBig(cell, BigInt(item.low[slot]) * BigInt(perSecond) + BigInt(part));
        }
        cell.setNumber(count);
        return Coercion.done;
      }
      case Held.tree:
      case Held.json:
        return Coercion.refused;
      default:
        return Coercion.notATime;
    }
  };
}
