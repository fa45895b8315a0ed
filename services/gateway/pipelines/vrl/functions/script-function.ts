import type { ScriptMachine } from '../machine.js';
import type { ScriptValue, ScriptType } from '../types.js';

/** A parameter of a function. */
export interface Parameter {
  readonly name: string;
  /** Set of kinds that it takes. */
  readonly kinds: number;
  readonly isOptional?: boolean;
}

/** The closure of a call, ready to run. */
export type Closure = (values: readonly ScriptValue[]) => ScriptValue;

/** Arguments of a call, in the order of the parameters; undefined where an optional one is absent. */
export type Arguments = readonly (ScriptValue | undefined)[];

/** A function of the scripting language (spec: pipelines 15.3). */
export interface ScriptFunction {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** Kinds of the result, or how they follow from the types of the arguments. */
  readonly returns: number | ((types: readonly (ScriptType | undefined)[]) => number);
  /** Whether it can fail although the arguments have the right kinds. */
  readonly canFail: boolean | ((types: readonly (ScriptType | undefined)[]) => boolean);
  /** Number of values that its closure takes; undefined if it has none. */
  readonly closureValues?: number;
  run(given: Arguments, machine: ScriptMachine, closure: Closure): ScriptValue;
}

/** Defines functions, and infers the types of their members. */
export function defineFunctions(functions: readonly ScriptFunction[]): readonly ScriptFunction[] {
  return functions;
}
