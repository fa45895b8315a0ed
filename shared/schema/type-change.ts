import { dataType, type DataType } from './data-type.js';

/** Integers up to this one are exact as 32-bit floats. */
const FLOAT32_EXACT = 1n << 24n;

/**
 * Returns why a field cannot change its type: a clause for a message, empty if the types have nothing in common. Undefined
 * if it can.
 *
 * Every value must have a counterpart in the new type. If one became null, the result of a merge of versions would depend
 * on whether it ran before or after the change.
 */
export function whyNoChange(from: string, to: string): string | undefined {
  const [before, after] = [dataType(from), dataType(to)];
  if (from === to || isTotal(before, after)) return undefined;
  return familyOf(before) === familyOf(after) || isText(before) ? `not every value of type '${from}' is one` : '';
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

function isText({ name }: DataType): boolean {
  return name === 'String' || name === 'Json';
}

function familyOf(type: DataType): string {
  if (isText(type) || type.storage === 'binary') return type.storage;
  return type.timeUnit !== undefined || type.name === 'Date' ? 'time' : 'number';
}
