import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, vectorDimension, type TimeUnit } from '#shared/schema/data-type';
import { isJson2 } from '#shared/schema/json-hints';
import type { Literal } from '../syntax/literals.js';

import type { KnownType } from '../functions/function.js';
import { GIVES_FLOAT, GIVES_INT, KEEPS_TYPE } from '../functions/native.js';

const UNITS: ReadonlySet<string> = new Set(['s', 'ms', 'us', 'ns']);

/** Returns the unit of a type that is a timestamp. */
export function unitOfType(known: KnownType | undefined): TimeUnit | undefined {
  return known !== undefined && UNITS.has(known) ? (known as TimeUnit) : undefined;
}

/** Returns what is known of a column with this native type. */
export function knownTypeOf(nativeName: string): KnownType | undefined {
  const { timeUnit, storage } = dataType(nativeName);
  if (timeUnit !== undefined) return timeUnit;
  if (nativeName.startsWith('Int') || nativeName.startsWith('UInt')) return 'int';
  const decimal = /^Decimal\((\d+), (\d+)\)$/.exec(nativeName);
  if (decimal !== null) return `decimal(${Number(decimal[1])},${Number(decimal[2])})`;
  if (vectorDimension(nativeName) !== undefined) return 'vector';
  if (isJson2(nativeName)) return 'json';
  return NATIVE_TYPES[nativeName] ?? (storage === 'float64' || storage === 'float32' ? 'float' : undefined);
}

const NATIVE_TYPES: Readonly<Partial<Record<string, KnownType>>> = {
  String: 'text',
  Binary: 'binary',
  Boolean: 'bool',
  Date: 'date',
  Json: 'json',
};

/** Operators whose result is a float if one operand is. */
export const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%']);

/**
 * Returns the result type of an arithmetic operator, unless it is a decimal.
 *
 * @throws `plan_query` for an interval that is multiplied or divided.
 */
export function arithmeticType(name: string, operands: readonly (KnownType | undefined)[]): KnownType | undefined {
  const isInterval = operands.includes('interval');
  if (isInterval && (name === '*' || name === '/')) {
    throw new AlmanacError(
      'plan_query',
      `Failed to plan SQL: Invalid interval arithmetic operation: an interval cannot be an operand of ${name}`,
    );
  }
  if (isInterval) return operands.every((type) => type === 'interval') ? 'interval' : undefined;
  const isFloat = operands.includes('float') && operands.every((type) => type === 'int' || type === 'float');
  return isFloat ? 'float' : undefined;
}

/** Engine types that a cast may name. */
export const CAST_TYPES: Readonly<Partial<Record<string, KnownType>>> = {
  TINYINT: 'int',
  SMALLINT: 'int',
  INTEGER: 'int',
  BIGINT: 'int',
  HUGEINT: 'int',
  UTINYINT: 'int',
  USMALLINT: 'int',
  UINTEGER: 'int',
  UBIGINT: 'int',
  FLOAT: 'float',
  DOUBLE: 'float',
  VARCHAR: 'text',
  BLOB: 'binary',
  BOOLEAN: 'bool',
  INTERVAL: 'interval',
  DATE: 'date',
};

/** Returns the type of a function's result. @param first type of its first argument. */
export function resultType(name: string, first: KnownType | undefined): KnownType | undefined {
  if (KEEPS_TYPE.has(name)) return first;
  if (GIVES_INT.has(name)) return 'int';
  return GIVES_FLOAT.has(name) ? 'float' : undefined;
}

/** Types of literals. */
export const LITERAL_TYPES: Readonly<Record<Literal['kind'], KnownType>> = {
  integer: 'int',
  unsigned: 'int',
  huge: 'float',
  decimal: 'float',
  text: 'text',
  binary: 'binary',
};

/** Functions whose result has the type of their arguments. */
export const WIDENED: ReadonlySet<string> = new Set(['greatest', 'least', 'nullif', 'if']);
