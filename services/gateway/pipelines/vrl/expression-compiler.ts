import type { PipelineValue } from '../values/value.js';
import type { ScriptMachine } from './machine.js';
import type { ScriptScope } from './scope.js';
import type { ClosureNode, Expression, PathTarget } from './syntax.js';
import { kindBit, Kinds, typeOfKinds, type ScriptValue, type ScriptType } from './types.js';

/** An expression that is ready to run. */
export interface Compiled {
  readonly type: ScriptType;
  readonly canFail: boolean;
  readonly run: (machine: ScriptMachine) => ScriptValue;
}

/** Compiles the parts of an expression. */
export interface ExpressionCompiler {
  readonly scope: ScriptScope;
  expression(node: Expression): Compiled;
  closure(
    node: ClosureNode,
    at: number,
    valueCount: number,
  ): (machine: ScriptMachine, values: readonly ScriptValue[]) => ScriptValue;
  pathFunction(name: 'exists' | 'del', target: PathTarget, compacts: boolean): Compiled;
  /** Makes the error for a script that does not compile. */
  fail(at: number, text: string): Error;
  warn(at: number, text: string): void;
}

/** Values for targets of expressions that fail, by the kinds that they have otherwise. */
export const ZEROS: ReadonlyMap<number, PipelineValue> = new Map<number, PipelineValue>([
  [Kinds.string, ''],
  [Kinds.integer, 0n],
  [Kinds.float, 0],
  [Kinds.boolean, false],
  [Kinds.object, new Map()],
  [Kinds.array, []],
]);

/** Compiles a value. */
export function constant(value: ScriptValue): Compiled {
  return { type: typeOfKinds(kindBit(value)), canFail: false, run: () => value };
}
