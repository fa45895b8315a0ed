import { dataType, type DataType } from './data-type.js';

/** Integers up to this one are exact as 32-bit floats. */
const FLOAT32_EXACT = 1n << 24n;

/** A field that is to get another type. */
export interface ChangedField {
  readonly type: string;
  /** Oldest first. */
  readonly formerTypes: readonly { readonly type: string }[];
  readonly indexes: readonly { readonly kind: string }[];
}

/**
 * Returns why a field cannot change its type: a clause for a message, empty if the types have nothing in common. Undefined
 * if it can. Values without a counterpart in the new type become null.
 *
 * With `last_non_null`, every value must have a counterpart: if one became null, the result of a merge of versions would
 * depend on whether it ran before or after the change.
 */
export function whyNoChange(
  { type: from, formerTypes, indexes }: ChangedField,
  to: string,
  options: Readonly<Record<string, string>>,
): string | undefined {
  if (from === to) return undefined;
  if (!hasEveryValue(from, to)) {
    if (!isConvertible(from, to)) return '';
    if (options['merge_mode'] === 'last_non_null') {
      return `not every value of type '${from}' is one, as merge_mode last_non_null requires`;
    }
  }
  if (indexes.some(({ kind }) => kind === 'FULLTEXT')) return 'unset its FULLTEXT index first';
  return isUnambiguous(from, formerTypes, to) ? undefined : `older values have this type and were '${from}' since`;
}

/** Returns whether every value of a type has a counterpart in another one. */
export function hasEveryValue(from: string, to: string): boolean {
  return from === to || isTotal(dataType(from), dataType(to));
}

/** The engine rounds times to coarser units, and does not check JSON. */
function isConvertible(from: string, to: string): boolean {
  const [before, after] = [dataType(from), dataType(to)];
  const isNumber = familyOf(after) === 'number' && !isVector(after);
  if (before.name === 'String') return isNumber || familyOf(after) === 'time';
  return isNumber && familyOf(before) === 'number' && !isVector(before);
}

/**
 * A value's first type identifies where it starts. A type can come back if it was text in between, since the text of a value
 * gives the same value.
 */
function isUnambiguous(from: string, formerTypes: ChangedField['formerTypes'], to: string): boolean {
  const former = formerTypes.map(({ type }) => type);
  if (!former.includes(to)) return true;
  return from === 'String' && former.indexOf(to) === former.length - 1;
}

function isTotal(from: DataType, to: DataType): boolean {
  if (to.name === 'String') return from.storage !== 'binary';
  if (from.storage === 'float32') return to.storage === 'float64';
  const range = rangeOf(from);
  if (range !== undefined) return holds(to, range, from.storage);
  const [digits, wanted] = [decimalOf(from), decimalOf(to)];
  if (digits === undefined || wanted === undefined) return false;
  return wanted.scale >= digits.scale && wanted.whole >= digits.whole;
}

interface Range {
  readonly min: bigint;
  readonly max: bigint;
}

/** Returns whether a type can represent every integer of a range; the widest float represents the nearest. */
function holds(type: DataType, { min, max }: Range, from: DataType['storage']): boolean {
  if (type.storage === 'float64') return true;
  if (type.storage === 'float32') return -FLOAT32_EXACT <= min && max <= FLOAT32_EXACT;
  const decimal = decimalOf(type);
  if (decimal !== undefined) return from === 'int' && max < 10n ** BigInt(decimal.whole);
  if (!isInteger(type)) return false;
  return (type.min ?? 0n) <= min && max <= (type.max ?? 0n);
}

function rangeOf(type: DataType): Range | undefined {
  if (type.storage === 'bool') return { min: 0n, max: 1n };
  return isInteger(type) ? { min: type.min ?? 0n, max: type.max ?? 0n } : undefined;
}

function isInteger({ storage, timeUnit, name }: DataType): boolean {
  return storage === 'int' && timeUnit === undefined && name !== 'Date';
}

/** Returns the digits before and after the decimal point. */
function decimalOf({ name }: DataType): { readonly whole: number; readonly scale: number } | undefined {
  const found = /^Decimal\((\d+), (\d+)\)$/.exec(name);
  if (found === null) return undefined;
  const scale = Number(found[2]);
  return { whole: Number(found[1]) - scale, scale };
}

function isVector({ storage, name }: DataType): boolean {
  return storage === 'binary' || name.startsWith('Vector');
}

function isText({ name }: DataType): boolean {
  return name === 'String' || name === 'Json';
}

function familyOf(type: DataType): string {
  if (isText(type) || type.storage === 'binary') return type.storage;
  return type.timeUnit !== undefined || type.name === 'Date' ? 'time' : 'number';
}
