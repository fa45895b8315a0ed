import type { TimeUnit } from '#shared/schema/data-type';
import type { TextQuery } from '#shared/term-index/text-query';

import type { Ast } from '../syntax/ast.js';
import type { Literal, RunValues } from '../syntax/literals.js';

/** A point in time that is known before the engine runs: ns since 1970. */
export type TimeConstant = (run: RunValues) => bigint;

/** What function rules can find out about expressions. */
export interface FunctionContext {
  /** Returns the unit of a timestamp expression; undefined if it is not one, or unknown. */
  unitOf(node: Ast): TimeUnit | undefined;
  /** Returns the value of a constant timestamp expression. */
  constantOf(node: Ast): TimeConstant | undefined;
  /** Records that a new node is a timestamp of this unit, and returns the node. */
  typed(node: Ast, unit: TimeUnit | undefined): Ast;
  /** Builds a constant timestamp that is rendered in each run. */
  timeConstant(value: TimeConstant, unit: TimeUnit): Ast;
  /** Returns the time index of the table that the query reads here, if there is exactly one. */
  timeIndex(): Ast | undefined;
  /** Builds SQL text that is rendered in each run. */
  perRun(render: (run: RunValues) => string): Ast;
  /** Returns the literal that a node is: its kind, and its value in a run. */
  literalOf(node: Ast): { readonly kind: Literal['kind']; in(run: RunValues): Literal } | undefined;
  /** Records that a node is a condition on the text of a column. */
  textCondition(node: Ast, column: Ast, condition: TextCondition): void;
  /** Records that a node is the same condition as another one, if that is one. */
  moveCondition(from: Ast, to: Ast): void;
}

/** A condition on a text. */
export interface TextCondition {
  /** Returns what an index can be searched for; undefined: nothing. */
  query(run: RunValues): TextQuery | undefined;
  /** Returns SQL of the condition. @param text SQL of the text. */
  sql(run: RunValues, text: string): string;
}

/** Rewrites calls of some functions to what the engine can run. Arguments have been rewritten already. */
export interface FunctionRule {
  readonly names: readonly string[];
  rewrite(node: Ast, context: FunctionContext): Ast;
}

/** Creates a rule for a function that only has another name in the engine. */
export function renamed(name: string, target: string): FunctionRule {
  return { names: [name], rewrite: (node) => Object.assign(node, { function_name: target }) };
}
