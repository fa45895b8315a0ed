import type { Column } from '#shared/contracts/gen/common';
import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';
import { AlmanacError } from '#shared/errors/almanac-error';
import { isJson2, jsonHints } from '#shared/schema/json-hints';
import { parseVector } from '#shared/schema/vector';
import { dataType, UNIT_NS, vectorDimension, type DataType, type TimeUnit } from '#shared/schema/data-type';
import type { CellValue } from '#shared/write/cell-value';
import { UTC, type Zone } from '#shared/time/zone';

import { compactJson, compactObject } from './compact-json.js';
import { hintedJson } from './json-hints.js';
import { floorDivide, type Literal } from './literals.js';
import { parseTimestampText } from './timestamp-text.js';

/** Converts values of one column to the type that it is stored in. */
export interface CellConverter {
  readonly column: Column;
  /** Converts a literal. @param isNegative whether a minus preceded the number. @throws `invalid_syntax`, `invalid_arguments`. */
  literal(literal: Literal, isNegative: boolean): CellValue;
  bool(value: boolean): CellValue;
  /** Converts a point in time, as `now()` returns it. */
  time(ns: bigint): CellValue;
  /** Converts a value of a query result. */
  cell(value: Cell, from: ValueType): CellValue;
}

/** Returns the converter for a column. */
export function converterOf(column: Column, zone: Zone): CellConverter {
  const type = dataType(column.type);
  const target = new Target(column, type, zone);
  return {
    column,
    literal: (literal, isNegative) => target.literal(literal, isNegative),
    bool: (value) => target.bool(value),
    time: (ns) => target.time(ns),
    cell: (value, from) => target.cell(value, from),
  };
}

class Target {
  readonly #column: Column;
  readonly #type: DataType;
  readonly #zone: Zone;

  constructor(column: Column, type: DataType, zone: Zone) {
    this.#column = column;
    this.#type = type;
    this.#zone = zone;
  }

  literal(literal: Literal, isNegative: boolean): CellValue {
    if (literal.kind === 'text') return this.text(literal.value);
    if (literal.kind === 'binary') {
      if (this.#type.storage !== 'binary') throw this.#refused(`0x${literal.value.slice(0, 40)}`);
      return this.#bytes(Buffer.from(literal.value, 'hex'));
    }
    return this.number((isNegative ? '-' : '') + literal.value);
  }

  bool(value: boolean): CellValue {
    if (this.#type.storage === 'bool') return value;
    if (this.#type.storage === 'text' && this.#type.name === 'String') return String(value);
    throw this.#refused(String(value));
  }

  time(ns: bigint): CellValue {
    const unit = this.#type.timeUnit;
    if (unit === undefined) throw this.#refused('timestamp');
    return this.#ranged(floorDivide(ns, UNIT_NS[unit]), 'timestamp');
  }

  number(text: string): CellValue {
    switch (this.#type.storage) {
      case 'int':
        return this.#integer(text);
      case 'float64':
        return Number(text);
      case 'float32':
        return Math.fround(Number(text));
      case 'text':
        if (this.#type.name.startsWith('Decimal')) return this.#decimal(text);
        throw this.#notNumber(text);
      default:
        throw this.#notNumber(text);
    }
  }

  text(text: string): CellValue {
    const { storage, name, timeUnit } = this.#type;
    if (timeUnit !== undefined) return this.#timeText(text, timeUnit);
    if (name === 'Date') return this.#dateText(text);
    if (name === 'Json') return compactJson(text);
    if (name === 'Json2') return compactObject(text);
    if (isJson2(name)) return hintedJson(compactObject(text, true), jsonHints(name));
    const dimension = vectorDimension(name);
    if (dimension !== undefined) return parseVector(text, dimension);
    if (name.startsWith('Decimal')) return this.#decimal(text.trim());
    if (storage === 'text') return text;
    if (storage === 'binary') return Buffer.from(text);
    if (storage === 'bool') return this.#boolText(text);
    return this.#numberText(text.trim());
  }

  cell(value: Cell, from: ValueType): CellValue {
    if (value === null) return null;
    const { timeUnit, name } = this.#type;
    if (timeUnit !== undefined && typeof value === 'bigint' && from.name === name) {
      return this.#ranged(value, 'timestamp');
    }
    const instant = instantOf(value, from);
    if (instant !== undefined) return this.#instant(instant, from);
    switch (typeof value) {
      case 'string':
        return from.kind === 'decimal' ? this.number(value) : this.text(value);
      case 'boolean':
        return this.#type.storage === 'int' && this.#type.timeUnit === undefined ? Number(value) : this.bool(value);
      case 'object':
        if (!(value instanceof Uint8Array)) throw this.#refused(from.name);
        return this.#type.storage === 'binary' ? this.#bytes(value) : this.text(Buffer.from(value).toString());
      default:
        return this.#count(value);
    }
  }

  /** Checks the length of a vector. */
  #bytes(value: Uint8Array): Uint8Array {
    const dimension = vectorDimension(this.#type.name);
    if (dimension === undefined || value.length === 4 * dimension) return value;
    throw new AlmanacError(
      'invalid_arguments',
      `Invalid Vector: ${value.length} bytes are no value of ${this.#type.name}, column: ${this.#column.name}`,
    );
  }

  /** Converts a point in time of a query result, in ns. */
  #instant(ns: bigint, from: ValueType): CellValue {
    if (this.#type.timeUnit !== undefined) return this.time(ns);
    if (this.#type.name === 'Date') return Number(floorDivide(ns, DAY_NS));
    throw this.#refused(from.name);
  }

  #count(value: number | bigint): CellValue {
    const { storage, name } = this.#type;
    switch (storage) {
      case 'float64':
        return oneNaN(Number(value));
      case 'float32':
        return oneNaN(Math.fround(Number(value)));
      case 'int':
        if (typeof value === 'bigint') return this.#ranged(value);
        return Number.isFinite(value) ? this.#ranged(Math.trunc(value)) : this.number(String(value));
      case 'bool':
        return Number(value) !== 0;
      default:
        if (name === 'String') return String(value);
        return this.number(Number.isInteger(value) ? BigInt(value).toString() : String(value));
    }
  }

  #integer(text: string): CellValue {
    if (!/^-?\d+$/.test(text)) throw this.#notNumber(text);
    return this.#ranged(BigInt(text), text);
  }

  /** @param value a whole number. */
  #ranged(value: bigint | number, text?: string): CellValue {
    // Numbers and bigints compare by value.
    const { min = value, max = value } = this.#type;
    if (value < min || value > max) {
      throw new AlmanacError(
        'invalid_syntax',
        `Failed to parse value: ${text ?? BigInt(value)} is out of the range of ${this.#type.name}, column: ${this.#column.name}`,
      );
    }
    if (this.#type.widthBytes === 8) return BigInt(value);
    return Number(value) + 0; // without the sign of a zero
  }

  #timeText(text: string, unit: TimeUnit): CellValue {
    const ns = parseTimestampText(text, this.#zone);
    if (ns === undefined) throw this.#refused(text, 'Timestamp');
    return this.#ranged(floorDivide(ns, UNIT_NS[unit]), text);
  }

  #dateText(text: string): CellValue {
    const ns = parseTimestampText(text, UTC);
    if (ns === undefined) throw this.#refused(text);
    return Number(floorDivide(ns, 86_400_000_000_000n));
  }

  #boolText(text: string): CellValue {
    if (/^(true|t|1)$/i.test(text)) return true;
    if (/^(false|f|0)$/i.test(text)) return false;
    throw this.#refused(text);
  }

  #numberText(text: string): CellValue {
    if (this.#type.storage !== 'int') {
      const special = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
      if (special !== null) return special[2].toLowerCase() === 'nan' ? NaN : special[1] === '-' ? -Infinity : Infinity;
    }
    if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) throw this.#refused(text);
    return this.number(text.replace(/^\+/, ''));
  }

  /** Formats a decimal with its fixed scale; further digits are rounded half up. */
  #decimal(text: string): CellValue {
    const [, precision, scale] = /\((\d+), (\d+)\)/.exec(this.#type.name) ?? [];
    const match = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
    if (match === null || match[2] + match[3] === '') throw this.#refused(text);
    const shift = Number(scale) - match[3].length + Number(match[4] ?? 0);
    const digits = BigInt(match[2] + match[3]);
    const unscaled =
      shift >= 0 ? digits * 10n ** BigInt(shift) : (digits + 5n * 10n ** BigInt(-shift - 1)) / 10n ** BigInt(-shift);
    const padded = String(unscaled).padStart(Number(scale) + 1, '0');
    if (padded.length > Math.max(Number(precision), Number(scale) + 1)) throw this.#refused(text);
    const sign = match[1] === '-' && unscaled !== 0n ? '-' : '';
    const whole = padded.slice(0, padded.length - Number(scale));
    return scale === '0' ? sign + padded : `${sign}${whole}.${padded.slice(-Number(scale))}`;
  }

  #notNumber(text: string): AlmanacError {
    return new AlmanacError(
      'invalid_syntax',
      `Fail to parse number ${text.slice(0, 60)}, invalid column type: ${this.#type.name}, column: ${this.#column.name}`,
    );
  }

  #refused(text: string, type = this.#type.name): AlmanacError {
    return new AlmanacError(
      'invalid_syntax',
      `Failed to parse value: Failed to parse ${text.slice(0, 100)} to ${type} value, column: ${this.#column.name}`,
    );
  }
}

/** Gives every NaN the same bits: those of a query may be the ones that mark the end of a series. */
function oneNaN(value: number): number {
  return Number.isNaN(value) ? NaN : value;
}

const DAY_NS = 86_400_000_000_000n;

/** Returns the ns since 1970 of a timestamp or date of a query result. */
function instantOf(value: Cell, from: ValueType): bigint | undefined {
  if (typeof value === 'bigint' && from.name.startsWith('Timestamp')) {
    return value * UNIT_NS[dataType(from.name).timeUnit ?? 'ns'];
  }
  return typeof value === 'number' && from.name === 'Date' ? BigInt(value) * DAY_NS : undefined;
}
