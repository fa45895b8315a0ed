/**
 * Scaled columns of doubles (docs/formats/segment.md). Most doubles are decimal numbers with few digits, whose bits look
 * random. Multiplied by a power of ten they are whole numbers, which compress to half the size, and the quotient of both
 * is the exact double.
 */
import { quoteName } from './quote.js';

/** Parquet field IDs of scaled columns begin here, above all own columns of segments. */
const SCALED_IDS = 1_100_000_000;
/** Parquet field IDs of columns of divisors begin here. */
const DIVISOR_IDS = 1_200_000_000;

/** Returns the Parquet field ID of the scaled column of a field. */
export function scaledId(columnId: number): number {
  return SCALED_IDS + columnId;
}

/** Returns the Parquet field ID of the divisors of a field. */
export function divisorId(columnId: number): number {
  return DIVISOR_IDS + columnId;
}

/** Returns whether a Parquet field ID is that of a scaled column. */
export function isScaledId(fieldId: number): boolean {
  return fieldId >= SCALED_IDS && fieldId < DIVISOR_IDS;
}

/** Name of the scaled column of a field in segment files. */
export function scaledName(name: string): string {
  return `__scaled_${name}`;
}

/** Name of the column of divisors of a field in segment files. */
export function divisorName(name: string): string {
  return `__divisor_${name}`;
}

/** The columns of a file that together have the values of a field. */
export interface StoredField {
  /** Values that are stored as they are. */
  readonly plain: string;
  readonly scaled: { readonly name: string; readonly divisor: string } | undefined;
}

/** Finds the columns of a field; undefined if the file has none. @param names column names by Parquet field ID. */
export function storedField(names: ReadonlyMap<number, string>, columnId: number): StoredField | undefined {
  const plain = names.get(columnId);
  if (plain === undefined) return undefined;
  const [name, divisor] = [names.get(scaledId(columnId)), names.get(divisorId(columnId))];
  return { plain, scaled: name === undefined || divisor === undefined ? undefined : { name, divisor } };
}

/** Returns SQL of the values of a field. */
export function valueSql({ plain, scaled }: StoredField): string {
  if (scaled === undefined) return quoteName(plain);
  return `coalesce(${quoteName(plain)}, ${quoteName(scaled.name)} / ${quoteName(scaled.divisor)})`;
}

/** Returns SQL of the condition that a field has a value. Unlike that of `valueSql`, it can be answered by statistics. */
export function isPresentSql({ plain, scaled }: StoredField): string {
  const isPlain = `${quoteName(plain)} IS NOT NULL`;
  return scaled === undefined ? isPlain : `(${isPlain} OR ${quoteName(scaled.name)} IS NOT NULL)`;
}
