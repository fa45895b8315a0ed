import type { TimeUnit } from '#shared/schema/data-type';

import type { Ast } from '../syntax/ast.js';
import type { RunValues } from '../syntax/literals.js';

/** A point in time that a run knows before the engine sees it: ns since 1970. */
export type TimeConstant = (run: RunValues) => bigint;

/** What rules of functions may ask and note about expressions. */
export interface FunctionContext {
  /** Unit of a timestamp expression; undefined if it is no timestamp or not known. */
  unitOf(node: Ast): TimeUnit | undefined;
  /** Value of a timestamp expression that is constant. */
  constantOf(node: Ast): TimeConstant | undefined;
  /** Notes that a node which a rule makes is a timestamp of this unit. */
  typed(node: Ast, unit: TimeUnit | undefined): Ast;
  /** A constant timestamp, rendered anew in each run. */
  timeConstant(value: TimeConstant, unit: TimeUnit): Ast;
  /** The time index of the one table that the query reads here, if there is one. */
  timeIndex(): Ast | undefined;
  /** SQL text that each run makes anew. */
  perRun(render: (run: RunValues) => string): Ast;
}

/** One rule: how calls of some functions become what the engine can run. Arguments are rewritten already. */
export interface FunctionRule {
  readonly names: readonly string[];
  rewrite(node: Ast, context: FunctionContext): Ast;
}

/** Makes a rule of a function that only has another name in the engine. */
export function renamed(name: string, target: string): FunctionRule {
  return { names: [name], rewrite: (node) => Object.assign(node, { function_name: target }) };
}
