import { Timestamp } from '../values/timestamp.js';
import { isObject, type PipelineValue } from '../values/value.js';
import type { Compiled, ExpressionCompiler } from './expression-compiler.js';
import { areEqual, isNumber } from './equal.js';
import { ScriptFailure, type ScriptMachine } from './machine.js';
import type { ScriptOperator, Expression } from './syntax.js';
import { eitherType, kindName, Kinds, typeOfKinds, type ScriptValue, type ScriptType } from './types.js';

type BinaryNode = Extract<Expression, { kind: 'binary' }>;
type Apply = (a: ScriptValue, b: ScriptValue, machine: ScriptMachine) => ScriptValue;

/** What is known of an operator: its function, and its result by the kinds of both sides. */
interface Operator {
  readonly apply: Apply;
  /** Returns the kinds of the result. */
  readonly returns: (left: number, right: number) => number;
  /** Whether values of these kinds always fit. */
  readonly fits: (left: number, right: number, rightNode: Expression) => boolean;
}

const STRING_OR_NULL = Kinds.string | Kinds.null;

const within = (kinds: number, allowed: number): boolean => kinds !== 0 && (kinds & ~allowed) === 0;
const areNumbers = (left: number, right: number): boolean => within(left, Kinds.number) && within(right, Kinds.number);
const numberKinds = (left: number, right: number): number => {
  if (left === Kinds.integer && right === Kinds.integer) return Kinds.integer;
  return left === Kinds.float || right === Kinds.float ? Kinds.float : Kinds.number;
};

const OPERATORS: Readonly<Record<Exclude<ScriptOperator, '&&' | '||' | '??'>, Operator>> = {
  '+': {
    apply: add,
    returns: (left, right) => {
      if (areNumbers(left, right)) return numberKinds(left, right);
      return within(left, STRING_OR_NULL) && within(right, STRING_OR_NULL) ? Kinds.string : Kinds.string | Kinds.number;
    },
    fits: (left, right) => areNumbers(left, right) || isText(left, right) || isText(right, left),
  },
  '-': { ...arithmetic((a, b) => a - b, '-'), returns: numberKinds },
  '*': {
    apply: multiply,
    returns: (left, right) => {
      if (areNumbers(left, right)) return numberKinds(left, right);
      return left === Kinds.string ? Kinds.string : Kinds.string | Kinds.number;
    },
    fits: (left, right) => areNumbers(left, right) || (left === Kinds.string && right === Kinds.integer),
  },
  '/': {
    apply: divide,
    returns: () => Kinds.float,
    fits: (left, right, node) => areNumbers(left, right) && node.kind === 'literal' && Number(node.value) !== 0,
  },
  '|': {
    apply: (a, b) => {
      if (!isObject(a as PipelineValue) || !isObject(b as PipelineValue)) throw mismatch('merge', a, b);
      return new Map([...(a as Map<string, PipelineValue>), ...(b as Map<string, PipelineValue>)]);
    },
    returns: () => Kinds.object,
    fits: (left, right) => left === Kinds.object && right === Kinds.object,
  },
  '<': comparison((order) => order < 0),
  '<=': comparison((order) => order <= 0),
  '>': comparison((order) => order > 0),
  '>=': comparison((order) => order >= 0),
  '==': { apply: (a, b) => areEqual(a, b), returns: () => Kinds.boolean, fits: () => true },
  '!=': { apply: (a, b) => !areEqual(a, b), returns: () => Kinds.boolean, fits: () => true },
};

/** Compiles an operator between two expressions. */
export function compileBinary(compiler: ExpressionCompiler, node: BinaryNode): Compiled {
  const { operator } = node;
  const left = compiler.expression(node.left);
  if (operator === '??' || operator === '&&' || operator === '||') return lazy(compiler, node, left);
  const right = compiler.expression(node.right);
  const { apply, returns, fits } = OPERATORS[operator];
  const [a, b] = [left.type.kinds, right.type.kinds];
  const runLeft = left.run;
  const runRight = right.run;
  return {
    type: typeOfKinds(returns(a, b)),
    canFail: left.canFail || right.canFail || !fits(a, b, node.right),
    run: (machine) => apply(runLeft(machine), runRight(machine), machine),
  };
}

/** Compiles an operator whose right side may not run. */
function lazy(compiler: ExpressionCompiler, { operator, right: node, at }: BinaryNode, left: Compiled): Compiled {
  const { result: right, after } = compiler.scope.branch(() => compiler.expression(node));
  compiler.scope.join(after);
  if (operator === '??') return either(compiler, left, right, at);
  const isBoolean = (type: ScriptType): boolean => within(type.kinds, Kinds.boolean | Kinds.null);
  if (operator === '||') {
    return {
      type: typeOfKinds((left.type.kinds & ~Kinds.null) | right.type.kinds),
      canFail: left.canFail || right.canFail,
      run(machine) {
        const value = left.run(machine);
        return value === null || value === false ? right.run(machine) : value;
      },
    };
  }
  return {
    type: typeOfKinds(Kinds.boolean),
    canFail: left.canFail || right.canFail || !isBoolean(left.type) || !isBoolean(right.type),
    run(machine) {
      const value = left.run(machine);
      if (value === null || value === false) return false;
      const other = right.run(machine);
      if (value !== true || (typeof other !== 'boolean' && other !== null)) throw mismatch('and', value, other);
      return other === true;
    },
  };
}

function either(compiler: ExpressionCompiler, left: Compiled, right: Compiled, at: number): Compiled {
  if (!left.canFail) compiler.warn(at, 'needless ??: the left side cannot fail');
  return {
    type: eitherType(left.type, right.type),
    canFail: right.canFail,
    run(machine) {
      try {
        return left.run(machine);
      } catch (error) {
        if (!(error instanceof ScriptFailure)) throw error;
        return right.run(machine);
      }
    },
  };
}

function isText(a: number, b: number): boolean {
  return a === Kinds.string && within(b, STRING_OR_NULL);
}

function arithmetic(apply: (a: number, b: number) => number, sign: string): Omit<Operator, 'returns'> {
  const big: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
    '+': (a, b) => a + b,
    '-': (a, b) => a - b,
    '*': (a, b) => a * b,
  };
  return {
    apply(a, b) {
      if (typeof a === 'bigint' && typeof b === 'bigint') return BigInt.asIntN(64, big[sign](a, b));
      if (isNumber(a) && isNumber(b)) return notNaN(apply(Number(a), Number(b)));
      throw mismatch(sign, a, b);
    },
    fits: areNumbers,
  };
}

const sum = arithmetic((a, b) => a + b, '+').apply;
const product = arithmetic((a, b) => a * b, '*').apply;

function add(a: ScriptValue, b: ScriptValue, machine: ScriptMachine): ScriptValue {
  if (typeof a === 'string' || typeof b === 'string') {
    if ((typeof a !== 'string' && a !== null) || (typeof b !== 'string' && b !== null)) throw mismatch('+', a, b);
    const text = (a ?? '') + (b ?? '');
    machine.use(text.length);
    return text;
  }
  return sum(a, b, machine);
}

function multiply(a: ScriptValue, b: ScriptValue, machine: ScriptMachine): ScriptValue {
  if (typeof a === 'string' && typeof b === 'bigint') {
    const count = b < 0n ? 0 : Number(b);
    machine.use(a.length * count);
    return a.repeat(count);
  }
  return product(a, b, machine);
}

function divide(a: ScriptValue, b: ScriptValue): ScriptValue {
  if (!isNumber(a) || !isNumber(b)) throw mismatch('/', a, b);
  if (Number(b) === 0) throw new ScriptFailure("can't divide by zero");
  return notNaN(Number(a) / Number(b));
}

function notNaN(value: number): number {
  if (Number.isNaN(value)) throw new ScriptFailure('the result is not a number');
  return value;
}

function comparison(accepts: (order: number) => boolean): Operator {
  return {
    apply: (a, b) => accepts(orderOf(a, b)),
    returns: () => Kinds.boolean,
    fits: (left, right) => {
      return areNumbers(left, right) || (left === right && (left === Kinds.string || left === Kinds.timestamp));
    },
  };
}

function orderOf(a: ScriptValue, b: ScriptValue): number {
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a instanceof Timestamp && b instanceof Timestamp) return a.seconds - b.seconds || a.nanos - b.nanos;
  throw mismatch('compare', a, b);
}

function mismatch(what: string, a: ScriptValue, b: ScriptValue): ScriptFailure {
  return new ScriptFailure(`can't apply ${what} to types ${kindName(a)} and ${kindName(b)}`);
}
