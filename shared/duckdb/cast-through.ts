import { dataType } from '#shared/schema/data-type';

/** A value of the first type as one of the last. @param types native names. */
export function castThrough(sql: string, types: readonly string[]): string {
  return types.slice(1).reduce((value, type, i) => cast(value, types[i], type), sql);
}

function cast(value: string, from: string, to: string): string {
  const text = `${value}::${dataType(to).duckdb}`;
  if (dataType(from).timeUnit === undefined) return text;
  // The engine has no text for the first times of 64 bits, and fails. Each value has to become one.
  return `coalesce(TRY(${text}), TRY(epoch_us(${value})::VARCHAR))`;
}
