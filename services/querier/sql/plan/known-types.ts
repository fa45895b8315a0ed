import { dataType, type TimeUnit } from '#shared/schema/data-type';

import { GIVES_FLOAT, GIVES_INT, KEEPS_TYPE } from '../functions/native.js';

/** What is known of an expression's type before the engine sees it: a timestamp's unit, or the kind of a number. */
export type KnownType = TimeUnit | 'int' | 'float';

/** Returns what is known of a column with this native type. */
export function knownTypeOf(nativeName: string): KnownType | undefined {
  const { timeUnit, storage } = dataType(nativeName);
  if (timeUnit !== undefined) return timeUnit;
  if (nativeName.startsWith('Int') || nativeName.startsWith('UInt')) return 'int';
  return storage === 'float64' || storage === 'float32' ? 'float' : undefined;
}

/** Operators whose result is a float if one operand is. */
export const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%']);

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
};

/** Returns the type of a function's result. @param first type of its first argument. */
export function resultType(name: string, first: KnownType | undefined): KnownType | undefined {
  if (KEEPS_TYPE.has(name)) return first;
  if (GIVES_INT.has(name)) return 'int';
  return GIVES_FLOAT.has(name) ? 'float' : undefined;
}
