import { METRIC_NAME } from '#shared/schema/metric-table';
import type {
  Aggregation,
  BinaryExpr,
  FunctionCall,
  DurationExpr,
  DurationNode,
  Expr,
  TimeShift,
  VectorSelector,
} from './ast.js';
import { goQuoted } from '../common/go-string.js';
import { numberText, promDurationText } from '../common/number-text.js';

/** Longest line in bytes; longer expressions are split. */
const LINE_MAX = 100;
const LABEL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const PLAIN_METRIC = /^[A-Za-z_:][A-Za-z0-9_:]*$/;

/** Formats an expression on one line. */
export function printExpr(expr: Expr): string {
  switch (expr.kind) {
    case 'number':
      return expr.isDuration ? promDurationText(Math.round(expr.value * 1000)) : numberText(expr.value);
    case 'string':
      return goQuoted(expr.value);
    case 'paren':
      return `(${printExpr(expr.expr)})`;
    case 'unary':
      return `${expr.op}${printExpr(expr.expr)}`;
    case 'binary':
      return `${printExpr(expr.lhs)} ${operatorText(expr)} ${printExpr(expr.rhs)}`;
    case 'call':
      return `${expr.func.name}(${expr.args.map(printExpr).join(', ')})`;
    case 'aggregation':
      return `${aggregationHead(expr)}(${children(expr).map(printExpr).join(', ')})`;
    case 'vectorSelector':
      return `${selectorText(expr)}${atText(expr)}${extendedText(expr)}${offsetText(expr)}`;
    case 'matrixSelector': {
      const { selector } = expr;
      const range = durationNode(expr.rangeMs, expr.rangeExpr);
      return `${selectorText(selector)}[${range}]${extendedText(selector)}${atText(selector)}${offsetText(selector)}`;
    }
    case 'subquery':
      return `${printExpr(expr.expr)}${subquerySuffix(expr)}`;
  }
}

/**
 * Formats an expression as `format_query` does: lines longer than 100 bytes are split, starting with the outermost node.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/api/#formatting-query-expressions
 */
export function prettyExpr(expr: Expr, level = 0): string {
  const indent = '  '.repeat(level);
  const line = `${indent}${printExpr(expr)}`;
  if (Buffer.byteLength(line.trimStart()) <= LINE_MAX) return line;
  switch (expr.kind) {
    case 'binary': {
      const operator = `${'  '.repeat(level)}${operatorText(expr)}`;
      return `${prettyExpr(expr.lhs, level + 1)}\n${operator}\n${prettyExpr(expr.rhs, level + 1)}`;
    }
    case 'aggregation':
      return block(`${indent}${aggregationHead(expr)}(`, children(expr), `${indent})`, level);
    case 'call':
      return prettyCall(expr, indent, level);
    case 'paren':
      return `${indent}(\n${prettyExpr(expr.expr, level + 1)}\n${indent})`;
    case 'unary':
      return `${indent}${expr.op}${prettyExpr(expr.expr, level).trimStart()}`;
    case 'subquery':
      return `${prettyExpr(expr.expr, level)}${subquerySuffix(expr)}`;
    case 'number':
    case 'string':
    case 'vectorSelector':
    case 'matrixSelector':
      return line;
  }
}

function prettyCall({ func, args }: FunctionCall, indent: string, level: number): string {
  return args.length === 0 ? `${indent}${func.name}()` : block(`${indent}${func.name}(`, args, `${indent})`, level);
}

function block(head: string, parts: readonly Expr[], tail: string, level: number): string {
  return `${head}\n${parts.map((part) => prettyExpr(part, level + 1)).join(',\n')}\n${tail}`;
}

function children({ param, expr }: Aggregation): readonly Expr[] {
  return param === undefined ? [expr] : [param, expr];
}

function aggregationHead({ op, grouping, isWithout }: Aggregation): string {
  if (isWithout) return `${op} without (${labelList(grouping)}) `;
  return grouping.length > 0 ? `${op} by (${labelList(grouping)}) ` : op;
}

function operatorText({ op, isBool, matching }: BinaryExpr): string {
  const parts: string[] = [op];
  if (isBool) parts.push('bool');
  const { card, labels, isOn, include, fillLeft, fillRight } = matching;
  const isGrouped = card === 'many-to-one' || card === 'one-to-many';
  if (labels.length > 0 || isOn || isGrouped) parts.push(`${isOn ? 'on' : 'ignoring'} (${labelList(labels)})`);
  if (isGrouped) parts.push(`${card === 'many-to-one' ? 'group_left' : 'group_right'} (${labelList(include)})`);
  if (fillLeft !== undefined && fillLeft === fillRight) {
    parts.push(`fill (${numberText(fillLeft)})`);
  } else {
    if (fillLeft !== undefined) parts.push(`fill_left (${numberText(fillLeft)})`);
    if (fillRight !== undefined) parts.push(`fill_right (${numberText(fillRight)})`);
  }
  return parts.join(' ');
}

function labelList(names: readonly string[]): string {
  return names.map((name) => (LABEL_NAME.test(name) ? name : goQuoted(name))).join(', ');
}

/** Formats the name and matchers of a selector. */
export function selectorText({ name, matchers }: Pick<VectorSelector, 'name' | 'matchers'>): string {
  const isPlain = name === '' || PLAIN_METRIC.test(name);
  const texts = matchers
    .filter((it) => !(it.name === METRIC_NAME && it.value === name && name !== ''))
    .map((it) => `${LABEL_NAME.test(it.name) ? it.name : goQuoted(it.name)}${it.op}${goQuoted(it.value)}`)
    .sort();
  if (!isPlain) texts.unshift(goQuoted(name));
  const front = isPlain ? name : '';
  return texts.length === 0 && front !== '' ? front : `${front}{${texts.join(',')}}`;
}

function extendedText({ isAnchored, isSmoothed }: VectorSelector): string {
  return `${isAnchored ? ' anchored' : ''}${isSmoothed ? ' smoothed' : ''}`;
}

function atText({ atMs, startOrEnd }: TimeShift): string {
  if (startOrEnd !== undefined) return ` @ ${startOrEnd}()`;
  return atMs === undefined ? '' : ` @ ${(atMs / 1000).toFixed(3)}`;
}

function offsetText({ offsetMs, offsetExpr }: TimeShift): string {
  if (offsetExpr !== undefined) return ` offset ${durationExprText(offsetExpr)}`;
  return offsetMs === 0 ? '' : ` offset ${promDurationText(offsetMs)}`;
}

function subquerySuffix(expr: Extract<Expr, { kind: 'subquery' }>): string {
  const range = durationNode(expr.rangeMs, expr.rangeExpr);
  const hasStep = expr.stepMs !== 0 || expr.stepExpr !== undefined;
  return `[${range}:${hasStep ? durationNode(expr.stepMs, expr.stepExpr) : ''}]${atText(expr)}${offsetText(expr)}`;
}

function durationNode(ms: number, expr: DurationExpr | undefined): string {
  return expr === undefined ? promDurationText(ms) : durationExprText(expr);
}

function durationExprText(node: DurationNode): string {
  if (node.kind === 'number') {
    return node.isDuration ? promDurationText(Math.round(node.value * 1000)) : numberText(node.value);
  }
  const { op, lhs, rhs } = node;
  const left = lhs === undefined ? '' : durationExprText(lhs);
  const right = rhs === undefined ? '' : durationExprText(rhs);
  const text = durationOperation(op, left, right);
  return node.isWrapped ? `(${text})` : text;
}

function durationOperation(op: DurationExpr['op'], left: string, right: string): string {
  if (op === 'step' || op === 'range') return `${op}()`;
  if (op === 'min_of' || op === 'max_of') return `${op}(${left}, ${right})`;
  return left === '' ? `${op}${right}` : `${left} ${op} ${right}`;
}
