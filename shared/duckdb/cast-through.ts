import { dataType } from '#shared/schema/data-type';
import { hasEveryValue } from '#shared/schema/type-change';

/**
 * Returns SQL that casts a value of the first type through all others to the last; what a type cannot represent becomes null.
 *
 * @param types native names.
 */
export function castThrough(sql: string, types: readonly string[]): string {
  return types.slice(1).reduce((value, type, i) => cast(value, types[i], type), sql);
}

function cast(value: string, from: string, to: string): string {
  if (!hasEveryValue(from, to)) return lossyCast(value, from, to);
  const text = `${value}::${dataType(to).duckdb}`;
  if (dataType(from).timeUnit === undefined) return text;
  // The engine fails to print the earliest 64-bit times. Every value has to become text.
  return `coalesce(TRY(${text}), TRY(epoch_us(${value})::VARCHAR))`;
}

function lossyCast(value: string, from: string, to: string): string {
  const { storage, timeUnit, duckdb } = dataType(to);
  // The engine rounds fractions, and reads times of day in microseconds only.
  if (dataType(from).storage.startsWith('float') && storage === 'int') return `TRY_CAST(trunc(${value}) AS ${duckdb})`;
  if (timeUnit === undefined || timeUnit === 'ns') return `TRY_CAST(${value} AS ${duckdb})`;
  return `TRY_CAST(TRY_CAST(${value} AS TIMESTAMP) AS ${duckdb})`;
}
