import { AlmanacError } from '#shared/errors/almanac-error';
import type { Column } from '#shared/contracts/gen/common';
import { dataType, type DataType, type TimeUnit } from '#shared/schema/data-type';

/**
 * One value in the representation of its column: integers, dates (days since 1970) and times (counts of the
 * column's unit) as number or bigint, decimals and JSON as text.
 */
export type CellValue = null | boolean | number | bigint | string | Uint8Array;

/** A column and its type, for checks of its values. */
export interface CellColumn {
  readonly column: Column;
  readonly type: DataType;
}

/** Returns a column with its type. */
export function cellColumn(column: Column): CellColumn {
  return { column, type: dataType(column.type) };
}

/** Checks a value. @throws `invalid_arguments` if it is not valid for the column. */
export function checkCell({ column, type }: CellColumn, value: CellValue): void {
  if (value === null) {
    if (!column.nullable) throw nullRefused(column.name);
    return;
  }
  if (!isStored(type, value)) {
    throw new AlmanacError('invalid_arguments', `value of column "${column.name}" is not a valid ${type.name}`);
  }
}

/** Makes the error for a null in a column that is not nullable. */
export function nullRefused(name: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `column ${name} is not null but input has null`);
}

function isStored(type: DataType, value: CellValue): boolean {
  switch (type.storage) {
    case 'int':
      return isIntegerIn(type, value);
    case 'float64':
    case 'float32':
      return typeof value === 'number';
    case 'bool':
      return typeof value === 'boolean';
    case 'text':
      return typeof value === 'string';
    case 'binary':
      return value instanceof Uint8Array;
  }
}

function isIntegerIn(type: DataType, value: CellValue): boolean {
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return false;
  // Numbers and bigints compare by value.
  return (type.min ?? value) <= value && value <= (type.max ?? value);
}

const encoder = new TextEncoder();

/**
 * Returns the text of a tag value that identifies its series: one text per value, which the engine can cast back. Part
 * of the storage format.
 */
export function canonicalText({ column, type }: CellColumn, value: NonNullable<CellValue>): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (type.timeUnit !== undefined && typeof value !== 'boolean') {
    return encoder.encode(timeText(column.name, BigInt(value), type.timeUnit));
  }
  if (type.name === 'Date') return encoder.encode(dateText(column.name, Number(value)));
  if (typeof value === 'number') {
    if (type.storage === 'float32') return encoder.encode(floatText(Math.fround(value)));
    if (type.storage === 'float64') return encoder.encode(floatText(value));
  }
  return encoder.encode(String(value));
}

function floatText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

const DAY_MS = 86_400_000;
const FRACTION_DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };

/** `YYYY-MM-DD`. */
function dateText(column: string, days: number): string {
  const date = new Date(days * DAY_MS);
  const year = date.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) {
    throw new AlmanacError('invalid_arguments', `tag "${column}" takes dates of the years 1 to 9999 only`);
  }
  return date.toISOString().slice(0, 10);
}

/** `YYYY-MM-DD HH:MM:SS` with all digits of the unit after the point. */
function timeText(column: string, time: bigint, unit: TimeUnit): string {
  const digits = FRACTION_DIGITS[unit];
  const perSecond = 10n ** BigInt(digits);
  const fraction = ((time % perSecond) + perSecond) % perSecond;
  const seconds = Number((time - fraction) / perSecond);
  const days = Math.floor(seconds / 86_400);
  const clock = new Date((seconds - days * 86_400) * 1000).toISOString().slice(11, 19);
  const text = `${dateText(column, days)} ${clock}`;
  return digits === 0 ? text : `${text}.${String(fraction).padStart(digits, '0')}`;
}
