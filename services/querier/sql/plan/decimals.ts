import { operator, type Ast } from '../syntax/ast.js';
import { decimalCast } from './casts.js';
import type { KnownType } from '../functions/function.js';

const PRECISION_MAX = 38;
/** Digits of a 64-bit integer, as which every integer takes part in decimal arithmetic. */
const INTEGER_DIGITS = 20;

interface Decimal {
  readonly precision: number;
  readonly scale: number;
}

/** A rewritten operation and the type of its result. */
export interface TypedNode {
  readonly node: Ast;
  readonly type: KnownType;
}

/**
 * Rewrites `+`, `-` and `*` of decimals, so that the result has all digits that it may need, up to 38; the engine stays
 * within 18 digits if its operands do, and fails if those do not suffice.
 *
 * @returns undefined if the operands are no decimals, or for another operator.
 */
export function decimalArithmetic(
  name: string,
  operands: readonly Ast[],
  types: readonly (KnownType | undefined)[],
): TypedNode | undefined {
  if (!types.some(isDecimal)) return undefined;
  const [left, right] = types.map(asDecimal);
  if (left === undefined || right === undefined) return undefined;
  const result = resultOf(name, left, right);
  if (result === undefined) return undefined;
  const { precision, scale } = result;
  const wide = operands.map((operand, i) => decimalCast(operand, precision, [left, right][i].scale));
  return { node: decimalCast(operator(name, ...wide), precision, scale), type: nameOf(result) };
}

function resultOf(name: string, left: Decimal, right: Decimal): Decimal | undefined {
  if (name === '*') return bounded(left.precision + right.precision + 1, left.scale + right.scale);
  if (name !== '+' && name !== '-') return undefined;
  const scale = Math.max(left.scale, right.scale);
  return bounded(scale + Math.max(left.precision - left.scale, right.precision - right.scale) + 1, scale);
}

function bounded(precision: number, scale: number): Decimal | undefined {
  return scale > PRECISION_MAX ? undefined : { precision: Math.min(precision, PRECISION_MAX), scale };
}

/** Functions of one decimal, and the type of their results. */
const RESULTS: Readonly<Partial<Record<string, (of: Decimal) => Decimal>>> = {
  ceil: (of) => of,
  ceiling: (of) => of,
  floor: (of) => of,
  abs: (of) => of,
  min: (of) => of,
  max: (of) => of,
  sum: ({ precision, scale }) => ({ precision: Math.min(precision + 10, PRECISION_MAX), scale }),
  avg: ({ precision, scale }) => ({
    precision: Math.min(precision + 4, PRECISION_MAX),
    scale: Math.min(scale + 4, PRECISION_MAX),
  }),
};

/** Casts the result of a function of one decimal to the decimal type that it has in this dialect. */
export function decimalFunction(node: Ast, of: KnownType | undefined): TypedNode | undefined {
  const result = isDecimal(of) ? RESULTS[node.function_name ?? ''] : undefined;
  const decimal = asDecimal(of);
  if (result === undefined || decimal === undefined) return undefined;
  const type = result(decimal);
  return { node: decimalCast(node, type.precision, type.scale), type: nameOf(type) };
}

function isDecimal(type: KnownType | undefined): boolean {
  return type?.startsWith('decimal') === true;
}

function asDecimal(type: KnownType | undefined): Decimal | undefined {
  if (type === 'int') return { precision: INTEGER_DIGITS, scale: 0 };
  const match = /^decimal\((\d+),(\d+)\)$/.exec(type ?? '');
  return match === null ? undefined : { precision: Number(match[1]), scale: Number(match[2]) };
}

function nameOf({ precision, scale }: Decimal): KnownType {
  return `decimal(${precision},${scale})`;
}
