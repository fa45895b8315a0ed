import { DIGITS_MAX } from '../../../kernels/arithmetic.js';
import {
  NotForKernels,
  type Aggregate,
  type Arithmetic,
  type ArithmeticOperation,
  type IntegerRange,
} from '../../../kernels/query.js';
import { isPlainCall, type Ast } from '../../syntax/ast.js';
import type { Expressions } from '../expressions.js';
import type { ForRun } from './kernel-modifiers.js';

/** An expression over aggregates; the literals in it come with each run. */
export interface PlanArithmetic {
  /** Native type of its values. */
  readonly type: string;
  readonly bind: ForRun<Arithmetic>;
}

/** What the nodes of an expression mean. */
export interface ArithmeticScope {
  readonly expressions: Expressions;
  /** Returns the aggregate that a node is, and its position among the aggregates. */
  readonly aggregateOf: (node: Ast) => { readonly aggregate: Aggregate; readonly index: number } | undefined;
}

/** Types of the engine that have no native type: sums of integers, and integer literals, whose type depends on the context. */
type OperandType = string;
const SUM = 'HugeInt';
const LITERAL = 'Literal';

interface Operand {
  readonly type: OperandType;
  readonly hasAggregate: boolean;
  readonly bind: ForRun<Arithmetic>;
}

/** Most operations, aggregates and literals of an expression, for each of which every group takes a few nanoseconds. */
const NODES_MAX = 100;

/**
 * Recognises an expression over aggregates. Undefined: it has no aggregate.
 *
 * @throws `NotForKernels` if it has operations, or types, of which the engine must find the result.
 */
export function kernelArithmetic(node: Ast, scope: ArithmeticScope): PlanArithmetic | undefined {
  const reader = new ArithmeticReader(scope);
  const { type, hasAggregate, bind } = reader.read(node);
  return hasAggregate ? { type: type === SUM ? 'Int64' : type, bind } : undefined;
}

const BINARY = new Set<string>(['+', '-', '*', '/'] satisfies ArithmeticOperation[]);
const UNARY: Readonly<Partial<Record<string, ArithmeticOperation>>> = {
  '+': 'convert',
  '-': 'negate',
  abs: 'abs',
  floor: 'floor',
  ceil: 'ceil',
  ceiling: 'ceil',
  round: 'round',
};

class ArithmeticReader {
  readonly #scope: ArithmeticScope;
  #nodes = 0;

  constructor(scope: ArithmeticScope) {
    this.#scope = scope;
  }

  read(node: Ast): Operand {
    if (++this.#nodes > NODES_MAX) throw new NotForKernels('an expression over aggregates is too long');
    const { expressions } = this.#scope;
    const found = this.#scope.aggregateOf(node);
    if (found !== undefined) {
      const { index } = found;
      return { type: typeOfAggregate(found.aggregate), hasAggregate: true, bind: () => ({ kind: 'aggregate', index }) };
    }
    const quotient = expressions.quotientOf(node);
    if (quotient !== undefined) return this.#binary('divideIntegers', quotient.left, quotient.right);
    const { children = [] } = node;
    if (node.class === 'OPERATOR' && node.type === 'OPERATOR_COALESCE' && children.length === 2) {
      return this.#binary('coalesce', children[0], children[1]);
    }
    if (node.class === 'CAST' && node.child !== undefined) return this.#cast(node, node.child);
    return isPlainCall(node) ? this.#call(node, children) : this.#literal(node);
  }

  #literal(node: Ast): Operand {
    const literal = this.#scope.expressions.literalOf(node);
    if (literal?.kind !== 'integer' && literal?.kind !== 'decimal') throw unsupported(describe(node));
    const { kind } = literal;
    return {
      type: kind === 'integer' ? LITERAL : 'Float64',
      hasAggregate: false,
      bind: (run) => {
        const value = Number(literal.in(run).value);
        if (kind === 'decimal') return { kind: 'number', value };
        if (!Number.isSafeInteger(value)) throw new NotForKernels('a number is too large');
        // Integers have no -0.
        return { kind: 'number', value: value + 0 };
      },
    };
  }

  #cast(node: Ast, child: Ast): Operand {
    const target = node.cast_type?.id ?? '';
    const operand = this.read(child);
    if (target === 'DOUBLE') return operation('convert', 'Float64', [operand]);
    // Literals have 64 bits in this dialect.
    if (target === 'BIGINT' && operand.type === LITERAL) return { ...operand, type: 'Int64' };
    throw unsupported(`a cast to ${target}`);
  }

  #call({ function_name: name = '' }: Ast, children: readonly Ast[]): Operand {
    const [first, second] = children;
    if (children.length === 2 && BINARY.has(name)) return this.#binary(name as ArithmeticOperation, first, second);
    const unary = Object.hasOwn(UNARY, name) ? UNARY[name] : undefined;
    if (unary === 'round' && (children.length === 1 || children.length === 2)) return this.#round(first, second);
    if (unary === undefined || children.length !== 1) throw unsupported(name);
    const operand = this.read(first);
    return operation(unary, unaryType(unary, operand.type), [operand]);
  }

  #binary(name: ArithmeticOperation, left: Ast, right: Ast): Operand {
    const operands = [this.read(left), this.read(right)];
    const types = operands.map(({ type }) => type);
    const type = commonType(types[0], types[1]) ?? commonType(types[1], types[0]);
    // Without a type that is known while planning, the engine divides integers as integers by `/`, and has NULL for zero.
    const isKnown = name === '/' ? isFloat(type) : name !== 'divideIntegers' || isQuotientKnown(type, types[1]);
    if (type === undefined || !isKnown) throw unsupportedTypes(name, types);
    return operation(name, type, operands);
  }

  #round(value: Ast, places: Ast | undefined): Operand {
    const operand = this.read(value);
    const { type } = operand;
    // The engine rounds unsigned integers in other types.
    const isInteger = type === SUM || /^Int\d+$/.test(type);
    if (!isFloat(type) && !isInteger) throw unsupportedTypes('round', [type]);
    const literal = places === undefined ? undefined : this.#scope.expressions.literalOf(places);
    if (places !== undefined && literal?.kind !== 'integer') throw unsupported('round to digits that are no integer');
    return operation(isInteger ? 'convert' : 'round', type, [operand], (run) => {
      const digits = literal === undefined ? undefined : Number(literal.in(run).value);
      if (digits !== undefined && (Math.abs(digits) > DIGITS_MAX || (isInteger && digits < 0))) {
        throw new NotForKernels('round has too many digits, or negative ones for integers');
      }
      return digits;
    });
  }
}

function operation(
  name: ArithmeticOperation,
  type: OperandType,
  operands: readonly Operand[],
  digits?: ForRun<number | undefined>,
): Operand {
  const resultType = isFloat(type) ? type : rangeOf(type);
  return {
    type,
    hasAggregate: operands.some(({ hasAggregate }) => hasAggregate),
    bind: (run) => ({
      ...{ kind: 'operation', operation: name, type: resultType, digits: digits?.(run) },
      operands: operands.map((operand) => {
        const bound = operand.bind(run);
        if (operand.type === LITERAL && isSmallInteger(type)) checkFits(bound, rangeOf(type));
        return bound;
      }),
    }),
  };
}

/** Checks that a literal has the type of an integer, so that the operation has this type too. */
function checkFits(literal: Arithmetic, { least, greatest }: IntegerRange): void {
  const fits = literal.kind === 'number' && literal.value >= least && literal.value <= greatest;
  if (!fits) throw new NotForKernels('an integer is beyond the type of an aggregate');
}

function unaryType(name: ArithmeticOperation, type: OperandType): OperandType {
  const isRounding = name === 'floor' || name === 'ceil';
  const isKnown = type === LITERAL ? name === 'negate' : name !== 'negate' || !type.startsWith('UInt');
  if (!isKnown) throw unsupportedTypes(name, [type]);
  return isRounding && !isFloat(type) ? 'Float64' : type;
}

/** Integers that kernels have exactly. */
const SAFE: IntegerRange = { least: Number.MIN_SAFE_INTEGER, greatest: Number.MAX_SAFE_INTEGER };

function rangeOf(type: OperandType): IntegerRange {
  const [, unsigned, bits] = /^(U?)Int(\d+)$/.exec(type) ?? ['', '', '64'];
  if (bits === '64') return unsigned === '' ? SAFE : { ...SAFE, least: 0 };
  const size = 2 ** Number(bits);
  return unsigned === '' ? { least: -size / 2, greatest: size / 2 - 1 } : { least: 0, greatest: size - 1 };
}

/** Returns the type in which the engine computes with two types, as far as it is certain; the first is the wider one. */
function commonType(wide: OperandType, other: OperandType): OperandType | undefined {
  return wide !== LITERAL && (wide === other || isWider(wide, other)) ? wide : undefined;
}

function isWider(wide: OperandType, other: OperandType): boolean {
  switch (wide) {
    case 'Float64':
      return true;
    case 'Float32':
      // The engine does not round sums of integers to the nearest float.
      return other !== 'Float64' && other !== SUM;
    case SUM:
      return !isFloat(other);
    case 'Int64':
      return other === LITERAL || isSmallInteger(other);
    default:
      return other === LITERAL && isSmallInteger(wide);
  }
}

/** Reports whether a type has less than 64 bits. Literals that fit become such integers. */
function isSmallInteger(type: OperandType): boolean {
  return /^U?Int(?:8|16|32)$/.test(type);
}

/** Reports whether the engine divides integers of a type in this type: others only by literals. */
function isQuotientKnown(type: OperandType | undefined, divisor: OperandType): boolean {
  return type === 'Int64' || type === SUM || (divisor === LITERAL && type !== undefined && isSmallInteger(type));
}

function isFloat(type: OperandType | undefined): type is 'Float64' | 'Float32' {
  return type === 'Float64' || type === 'Float32';
}

/** @throws `NotForKernels` for times */
function typeOfAggregate({ name, field, range }: Aggregate): OperandType {
  if (range?.fill === 'linear') return 'Float64';
  if (name === 'count' || field === undefined) return 'Int64';
  if (field.kind === 'time') throw unsupported('times');
  if (name === 'avg') return 'Float64';
  if (name !== 'sum') return field.type;
  return field.type.startsWith('Float') ? 'Float64' : SUM;
}

/** Operators of operations that have other names. */
const OPERATORS: Readonly<Partial<Record<ArithmeticOperation, string>>> = {
  divideIntegers: '/',
  negate: '-',
  convert: '+',
};

function unsupportedTypes(operation: ArithmeticOperation, types: readonly OperandType[]): NotForKernels {
  return unsupported(`${OPERATORS[operation] ?? operation} of ${types.map(typeText).join(' and ')}`);
}

function typeText(type: OperandType): string {
  return type === LITERAL ? 'a literal' : type === SUM ? 'a sum of integers' : type;
}

function describe({ class: kind = '', type, function_name: name }: Ast): string {
  if (kind === 'COLUMN_REF') return 'a column';
  if (type === 'OPERATOR_COALESCE') return 'coalesce of more than two values';
  if (kind === 'FUNCTION') return `${name ?? ''} with DISTINCT, FILTER or ORDER BY`;
  return kind === 'CONSTANT' ? 'a constant that is no number' : kind.toLowerCase();
}

function unsupported(what: string): NotForKernels {
  return new NotForKernels(`an expression over aggregates has ${what}`);
}
