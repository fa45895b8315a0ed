import type { Expr } from '../../promql/syntax/ast.js';
import { promDurationText } from '../../promql/common/number-text.js';
import { printExpr, selectorText } from '../../promql/syntax/print.js';
import { selectorsOf } from '../../promql/syntax/selectors.js';
import { exprTree } from '../../promql/syntax/tree.js';
import type { TableOutput } from '../statement.js';
import type { TqlTimes } from './parameters.js';
import type { TqlText } from '../syntax/tql-text.js';

/** Columns of TQL EXPLAIN. */
export const EXPLAINED: TableOutput['columns'] = [
  { name: 'plan_type', type: 'String' },
  { name: 'plan', type: 'String' },
];

/** A sum of thousands of operands is as deep, and spaces would make up most of its plan. */
const INDENTED_LEVELS_MAX = 100;

interface PlanNode {
  readonly text: string;
  readonly inner: readonly PlanNode[];
}

/** Prints what is computed and what is read for it, in the requested format. */
export function planText(
  expr: Expr,
  times: TqlTimes,
  { format, isVerbose }: TqlText,
): [logical: string, physical: string] {
  const logical: PlanNode = { text: `Evaluate: ${timesText(times)}`, inner: [nodeOf(expr)] };
  const reads: PlanNode = {
    text: 'Read',
    inner: selectorsOf(expr).map(({ selector }) => ({ text: `Select: ${selectorText(selector)}`, inner: [] })),
  };
  switch (format) {
    case 'json':
      return [
        JSON.stringify({ ...times, query: printExpr(expr), ...(isVerbose ? { tree: exprTree(expr) } : {}) }),
        JSON.stringify(reads.inner.map(({ text }) => text)),
      ];
    case 'graphviz':
      return [graphText(logical), graphText(reads)];
    case 'text':
      return [treeText(logical), treeText(reads)];
  }
}

function timesText({ startMs, endMs, stepMs, lookbackMs }: TqlTimes): string {
  const lookback = lookbackMs === 0 ? '' : `, lookback=${promDurationText(lookbackMs)}`;
  return `range=[${startMs}..${endMs}], interval=[${stepMs}]${lookback}`;
}

function nodeOf(expr: Expr): PlanNode {
  switch (expr.kind) {
    case 'paren':
      return nodeOf(expr.expr);
    case 'unary':
      return { text: `Unary: ${expr.op}`, inner: [nodeOf(expr.expr)] };
    case 'binary':
      return { text: `Binary: ${expr.op}`, inner: [nodeOf(expr.lhs), nodeOf(expr.rhs)] };
    case 'call':
      return { text: `Call: ${expr.func.name}`, inner: expr.args.map(nodeOf) };
    case 'aggregation': {
      const by = expr.grouping.join(', ');
      const inner = [...(expr.param === undefined ? [] : [nodeOf(expr.param)]), nodeOf(expr.expr)];
      return { text: `Aggregate: ${expr.op} ${expr.isWithout ? 'without' : 'by'} (${by})`, inner };
    }
    case 'subquery':
      return { text: `Subquery: ${printExpr(expr)}`, inner: [nodeOf(expr.expr)] };
    case 'matrixSelector':
      return { text: `Range: ${printExpr(expr)}`, inner: [] };
    case 'vectorSelector':
      return { text: `Instant: ${printExpr(expr)}`, inner: [] };
    default:
      return { text: `Literal: ${printExpr(expr)}`, inner: [] };
  }
}

function treeText(root: PlanNode): string {
  const lines: string[] = [];
  const add = ({ text, inner }: PlanNode, depth: number): void => {
    const level = depth > INDENTED_LEVELS_MAX ? `[level ${depth}] ` : '';
    lines.push(`${'  '.repeat(Math.min(depth, INDENTED_LEVELS_MAX))}${level}${text}`);
    for (const node of inner) add(node, depth + 1);
  };
  add(root, 0);
  return lines.join('\n');
}

function graphText(root: PlanNode): string {
  const lines: string[] = [];
  const edges: string[] = [];
  const add = ({ text, inner }: PlanNode): number => {
    const own = lines.length;
    lines.push(`  n${own} [label=${JSON.stringify(text)}]`);
    for (const node of inner) edges.push(`  n${own} -> n${add(node)}`);
    return own;
  };
  add(root);
  return ['digraph {', ...lines, ...edges, '}'].join('\n');
}
