import { AlmanacError } from '#shared/errors/almanac-error';
import type { TimeUnit } from '#shared/schema/data-type';
import type { TextQuery } from '#shared/term-index/text-query';

import type { Ast } from '../syntax/ast.js';
import type { Literal, RunValues } from '../syntax/literals.js';

/** A point in time that is known before the engine runs: ns since 1970. */
export type TimeConstant = (run: RunValues) => bigint;

/**
 * What is known of an expression's type before the engine sees it: a timestamp's unit, the kind of a number, or another type
 * whose values the engine treats differently. `json` is a text that is a JSON value, `vector` a binary value of floats.
 */
export type KnownType =
  | TimeUnit
  | 'int'
  | 'float'
  | 'text'
  | 'binary'
  | 'bool'
  | 'interval'
  | 'date'
  | 'json'
  | 'vector'
  | `decimal(${number},${number})`;

/** Buckets of equal length by which an expression rounds times down. */
export interface TimeBucket {
  /** The expression of the times. */
  readonly time: Ast;
  readonly stepNs: bigint;
  readonly originNs: bigint;
}

/** What function rules can find out about expressions. */
export interface FunctionContext {
  /** Returns the unit of a timestamp expression; undefined if it is not one, or unknown. */
  unitOf(node: Ast): TimeUnit | undefined;
  /** Returns the value of a constant timestamp expression. */
  constantOf(node: Ast): TimeConstant | undefined;
  /** Returns what is known of an expression's type. */
  typeOf(node: Ast): KnownType | undefined;
  /** Records the type of a new node, and returns the node. */
  typed(node: Ast, known: KnownType | undefined): Ast;
  /** Rewrites a new cast, as one that the user wrote. */
  cast(node: Ast): Ast;
  /** Rewrites a new arithmetic operator, as one that the user wrote. */
  arithmetic(node: Ast): Ast;
  /** Builds a constant timestamp that is rendered in each run. */
  timeConstant(value: TimeConstant, unit: TimeUnit): Ast;
  /** Returns the time index of the table that a value is read from, if there is exactly one. */
  timeIndexFor(value: Ast): Ast | undefined;
  /** Builds SQL text that is rendered in each run. */
  perRun(render: (run: RunValues) => string): Ast;
  /** Returns the literal that a node is: its kind, and its value in a run. */
  literalOf(node: Ast): { readonly kind: Literal['kind']; in(run: RunValues): Literal } | undefined;
  /** Records that a node is a condition on the text of a column. */
  textCondition(node: Ast, column: Ast, condition: TextCondition): void;
  /** Records that a node rounds times down to buckets in the unit of the times, and returns the node. */
  bucketed(node: Ast, bucket: TimeBucket): Ast;
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
  /** Whether calls with OVER are rewritten too. */
  readonly inWindows?: boolean;
  /** Loads what the engine's function needs; runs before the first query with the function. */
  readonly load?: () => Promise<void>;
  rewrite(node: Ast, context: FunctionContext): Ast;
}

/** Returns the arguments of a call. @throws `plan_query` if there are too few or too many. */
export function argumentsOf(node: Ast, min: number, max: number): Ast[] {
  const given = node.children ?? [];
  if (given.length < min || given.length > max) {
    throw new AlmanacError(
      'plan_query',
      `Failed to plan SQL: function '${node.function_name ?? ''}' takes ${min === max ? min : `${min} to ${max}`} arguments, got ${given.length}`,
    );
  }
  return given;
}

/** Creates a rule for a function that only has another name in the engine. */
export function renamed(name: string, target: string): FunctionRule {
  return { names: [name], rewrite: (node) => Object.assign(node, { function_name: target }) };
}
