import { dataType } from '#shared/schema/data-type';

/** Returns SQL that casts a value of the first type through all others to the last. @param types native names. */
export function castThrough(sql: string, types: readonly string[]): string {
  return types.slice(1).reduce((value, type, i) => cast(value, types[i], type), sql);
}

function cast(value: string, from: string, to: string): string {
  const text = `${value}::${dataType(to).duckdb}`;
  if (dataType(from).timeUnit === undefined) return text;
  // The engine fails to print the earliest 64-bit times. Every value has to become text.
  return `coalesce(TRY(${text}), TRY(epoch_us(${value})::VARCHAR))`;
}
