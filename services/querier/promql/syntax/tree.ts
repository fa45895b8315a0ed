import { typeOf } from './ast.js';
import type { DurationExpr, DurationNode, Expr, TimeShift, VectorMatching, VectorSelector } from './ast.js';
import { toValidUtf8 } from '../common/go-string.js';
import { numberText } from '../common/number-text.js';

/** A JSON value of a `parse_query` response. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Returns the tree of an expression within another one. */
type Subtree = (expr: Expr) => Json;

/** Returns the tree of an expression as Prometheus's `parse_query` does. */
export function exprTree(expr: Expr): Json {
  return nodeMembers(expr, exprTree);
}

/** Returns the same tree with the position of each node in the query: `start` and `end`, in UTF-16 units. */
export function exprTreeWithPositions(expr: Expr): Json {
  const { start, end } = expr;
  return { ...nodeMembers(expr, exprTreeWithPositions), start, end };
}

function nodeMembers(expr: Expr, tree: Subtree): Readonly<Record<string, Json>> {
  switch (expr.kind) {
    case 'number':
      return { type: 'numberLiteral', val: numberText(expr.value) };
    case 'string':
      return { type: 'stringLiteral', val: toValidUtf8(expr.value) };
    case 'paren':
      return { type: 'parenExpr', expr: tree(expr.expr) };
    case 'unary':
      return { type: 'unaryExpr', op: expr.op, expr: tree(expr.expr) };
    case 'binary': {
      const { op, lhs, rhs, isBool, matching } = expr;
      const sides = { lhs: tree(lhs), rhs: tree(rhs) };
      const areVectors = typeOf(lhs) === 'vector' && typeOf(rhs) === 'vector';
      return { type: 'binaryExpr', op, ...sides, bool: isBool, matching: areVectors ? matchingTree(matching) : null };
    }
    case 'call': {
      const { name, args, variadic, returns } = expr.func;
      const func = { name, argTypes: args, variadic, returnType: returns };
      return { type: 'call', func, args: expr.args.map(tree) };
    }
    case 'aggregation': {
      const { op, param, grouping, isWithout } = expr;
      const paramTree = param === undefined ? null : tree(param);
      return { type: 'aggregation', op, expr: tree(expr.expr), param: paramTree, grouping, without: isWithout };
    }
    case 'vectorSelector':
      return { type: 'vectorSelector', ...selectorMembers(expr) };
    case 'matrixSelector': {
      const range = { range: expr.rangeMs, rangeExpr: durationTree(expr.rangeExpr) };
      return { type: 'matrixSelector', ...range, ...selectorMembers(expr.selector) };
    }
    case 'subquery':
      return {
        type: 'subquery',
        expr: tree(expr.expr),
        ...shiftMembers(expr),
        range: expr.rangeMs,
        rangeExpr: durationTree(expr.rangeExpr),
        step: expr.stepMs,
        stepExpr: durationTree(expr.stepExpr),
      };
  }
}

function selectorMembers(selector: VectorSelector): Readonly<Record<string, Json>> {
  const { name, matchers, isAnchored, isSmoothed } = selector;
  const list = matchers.map((it) => ({ name: it.name, value: it.value, type: it.op }));
  return { name, matchers: list, anchored: isAnchored, smoothed: isSmoothed, ...shiftMembers(selector) };
}

function shiftMembers({ offsetMs, offsetExpr, atMs, startOrEnd }: TimeShift): Readonly<Record<string, Json>> {
  return {
    offset: offsetMs,
    offsetExpr: durationTree(offsetExpr),
    timestamp: atMs ?? null,
    startOrEnd: startOrEnd ?? null,
  };
}

function matchingTree(matching: VectorMatching): Json {
  const { card, labels, isOn, include, fillLeft, fillRight } = matching;
  const fillValues = { lhs: fillLeft ?? null, rhs: fillRight ?? null };
  return { card, labels, on: isOn, include, fillValues };
}

function durationTree(node: DurationNode | undefined): Json {
  if (node === undefined) return null;
  if (node.kind === 'number') return { type: 'numberLiteral', val: numberText(node.value), duration: node.isDuration };
  const { op, isWrapped }: DurationExpr = node;
  return {
    type: 'durationExpr',
    op,
    wrapped: isWrapped,
    lhs: durationTree(node.lhs),
    rhs: durationTree(node.rhs),
  };
}
