import type { Compiled, ExpressionCompiler } from './expression-compiler.js';
import { SCRIPT_FUNCTIONS } from './functions/registry.js';
import type { Parameter, ScriptFunction } from './functions/script-function.js';
import { ScriptAbort, ScriptFailure, type ScriptMachine } from './machine.js';
import type { Argument, Expression } from './syntax.js';
import { kindBit, kindName, kindNames, typeOfKinds, type ScriptValue } from './types.js';

type CallNode = Extract<Expression, { kind: 'call' }>;

/** Compiles a call of a function. */
export function compileCall(compiler: ExpressionCompiler, node: CallNode): Compiled {
  const { name, at } = node;
  if (name === 'exists' || name === 'del') return compilePathCall(compiler, name, node);
  const called = SCRIPT_FUNCTIONS.get(name);
  if (called === undefined) throw compiler.fail(at, `undefined function "${name}"`);
  const given = placeArguments(compiler, called, node);
  const compiled = given.map((argument) => (argument === undefined ? undefined : compiler.expression(argument)));
  const fits = checkKinds(compiler, called, compiled, at);
  const types = compiled.map((it) => it?.type);
  const closure = compileClosure(compiler, called, node);
  const canFailItself = !fits || (typeof called.canFail === 'boolean' ? called.canFail : called.canFail(types));
  if (node.isAborting && !canFailItself) compiler.warn(at, `needless !: ${name} cannot fail here`);
  const run = caller(called, compiled, closure);
  return {
    type: typeOfKinds(typeof called.returns === 'number' ? called.returns : called.returns(types)),
    canFail: compiled.some((it) => it?.canFail === true) || (canFailItself && !node.isAborting),
    run: node.isAborting ? aborting(run) : run,
  };
}

function compilePathCall(compiler: ExpressionCompiler, name: 'exists' | 'del', node: CallNode): Compiled {
  const [path, compact] = node.arguments;
  if (path?.value.kind !== 'path') throw compiler.fail(node.at, `${name} needs a path`);
  const compacts = compact?.value.kind === 'literal' && compact.value.value === true;
  return compiler.pathFunction(name, path.value.target, compacts);
}

/** Returns the arguments in the order of the parameters. */
function placeArguments(
  compiler: ExpressionCompiler,
  { name, parameters }: ScriptFunction,
  { arguments: given, at }: CallNode,
): (Expression | undefined)[] {
  const placed = new Array<Expression | undefined>(parameters.length).fill(undefined);
  const place = (index: number, { value }: Argument): void => {
    if (index < 0 || index >= parameters.length) {
      throw compiler.fail(at, `too many arguments, or an unknown one, for ${name}`);
    }
    if (placed[index] !== undefined) throw compiler.fail(at, `argument "${parameters[index].name}" is given twice`);
    placed[index] = value;
  };
  for (const argument of given) {
    if (argument.name !== undefined) {
      place(
        parameters.findIndex((it) => it.name === argument.name),
        argument,
      );
    }
  }
  for (const argument of given) {
    if (argument.name === undefined) place(placed.indexOf(undefined), argument);
  }
  const missing = parameters.find(({ isOptional }, i) => isOptional !== true && placed[i] === undefined);
  if (missing !== undefined) throw compiler.fail(at, `${name} needs the argument "${missing.name}"`);
  return placed;
}

/** Whether all arguments have kinds that their parameters take. */
function checkKinds(
  compiler: ExpressionCompiler,
  { name, parameters }: ScriptFunction,
  compiled: readonly (Compiled | undefined)[],
  at: number,
): boolean {
  let fits = true;
  for (const [i, { name: parameter, kinds }] of parameters.entries()) {
    const given = compiled[i]?.type.kinds;
    if (given === undefined) continue;
    if ((given & kinds) === 0) {
      const expected = `expected ${kindNames(kinds)}, got ${kindNames(given)}`;
      throw compiler.fail(at, `invalid argument "${parameter}" of ${name}: ${expected}`);
    }
    if ((given & ~kinds) !== 0) fits = false;
  }
  return fits;
}

type RunClosure = ((machine: ScriptMachine, values: readonly ScriptValue[]) => ScriptValue) | undefined;

function compileClosure(
  compiler: ExpressionCompiler,
  { name, closureValues }: ScriptFunction,
  { closure, at }: CallNode,
): RunClosure {
  if (closureValues === undefined && closure === undefined) return undefined;
  if (closureValues === undefined) throw compiler.fail(at, `${name} takes no closure`);
  if (closure === undefined) throw compiler.fail(at, `${name} needs a closure`);
  return compiler.closure(closure, at, closureValues);
}

function caller(
  called: ScriptFunction,
  compiled: readonly (Compiled | undefined)[],
  closure: RunClosure,
): (machine: ScriptMachine) => ScriptValue {
  const { parameters } = called;
  const runs = compiled.map((it) => it?.run);
  return (machine) => {
    machine.step();
    const values = runs.map((run, i) => checked(called, parameters[i], run?.(machine)));
    return called.run(values, machine, (given) => {
      machine.step();
      return closure?.(machine, given) ?? null;
    });
  };
}

function checked(
  { name }: ScriptFunction,
  parameter: Parameter,
  value: ScriptValue | undefined,
): ScriptValue | undefined {
  if (value === undefined || (kindBit(value) & parameter.kinds) !== 0) return value;
  // An optional argument may be null.
  if (value === null && parameter.isOptional === true) return undefined;
  throw new ScriptFailure(
    `function call error for "${name}": expected ${kindNames(parameter.kinds)}, got ${kindName(value)}`,
  );
}

function aborting(run: (machine: ScriptMachine) => ScriptValue): (machine: ScriptMachine) => ScriptValue {
  return (machine) => {
    try {
      return run(machine);
    } catch (error) {
      if (error instanceof ScriptFailure) throw new ScriptAbort(error.message);
      throw error;
    }
  };
}
