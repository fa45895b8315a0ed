import type { PipelineValue } from '../values/value.js';

/** A step of a path: a key, or a position in an array. */
export type PathStep = string | number;

/** Root of a path: the event, or a variable. */
export type PathRoot = { readonly kind: 'event' } | { readonly kind: 'variable'; readonly name: string };

/** Where a value is read or assigned. */
export interface PathTarget {
  readonly root: PathRoot;
  readonly steps: readonly PathStep[];
  readonly at: number;
}

/** Target of an assignment; undefined for `_`, which discards the value. */
export type AssignTarget = PathTarget | undefined;

/** An argument of a call; named, or by position. */
export interface Argument {
  readonly name: string | undefined;
  readonly value: Expression;
}

/** A closure after a call. */
export interface ClosureNode {
  readonly parameters: readonly string[];
  readonly body: readonly Expression[];
}

/** Binary operators. */
export type ScriptOperator = '*' | '/' | '+' | '-' | '|' | '<' | '<=' | '>' | '>=' | '==' | '!=' | '&&' | '||' | '??';

/** A part of a text with variables. */
export type TemplatePart = string | { readonly variable: string };

/** An expression of a script; `at` is its position in the source. */
export type Expression = { readonly at: number } & (
  | { readonly kind: 'literal'; readonly value: PipelineValue }
  | { readonly kind: 'template'; readonly parts: readonly TemplatePart[] }
  | { readonly kind: 'regex'; readonly pattern: string }
  | { readonly kind: 'path'; readonly target: PathTarget }
  | { readonly kind: 'member'; readonly of: Expression; readonly steps: readonly PathStep[] }
  | { readonly kind: 'array'; readonly elements: readonly Expression[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [key: string, value: Expression])[] }
  | { readonly kind: 'not'; readonly of: Expression }
  | { readonly kind: 'negative'; readonly of: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: ScriptOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'assign'; readonly target: AssignTarget; readonly merges: boolean; readonly value: Expression }
  | {
      readonly kind: 'assignFallible';
      readonly target: AssignTarget;
      readonly error: AssignTarget;
      readonly value: Expression;
    }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly isAborting: boolean;
      readonly arguments: readonly Argument[];
      readonly closure: ClosureNode | undefined;
    }
  | {
      readonly kind: 'if';
      readonly condition: readonly Expression[];
      readonly then: readonly Expression[];
      readonly otherwise: readonly Expression[] | undefined;
    }
  | { readonly kind: 'block'; readonly body: readonly Expression[] }
  | { readonly kind: 'abort'; readonly message: Expression | undefined }
  | { readonly kind: 'return'; readonly value: Expression }
);
