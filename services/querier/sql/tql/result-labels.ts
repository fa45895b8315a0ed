import {
  typeOf,
  type Aggregation,
  type BinaryExpr,
  type FunctionCall,
  type Expr,
  type VectorSelector,
} from '../../promql/syntax/ast.js';

/** The labels that series of a selector can have; undefined if there are no such series. */
export type LabelsOfSelector = (selector: VectorSelector) => readonly string[];

/** Functions whose result has no labels, or others than their argument. */
const UNLABELLED = new Set(['absent', 'absent_over_time', 'scalar', 'vector', 'time', 'info']);

/**
 * The labels that a result has by what the expression says, whatever series there are: so that a table of the result has
 * the same columns when it is empty.
 */
export function resultLabels(expr: Expr, of: LabelsOfSelector): readonly string[] {
  switch (expr.kind) {
    case 'vectorSelector':
      return of(expr);
    case 'matrixSelector':
      return of(expr.selector);
    case 'paren':
    case 'unary':
    case 'subquery':
      return resultLabels(expr.expr, of);
    case 'aggregation':
      return aggregatedLabels(expr, of);
    case 'call':
      return calledLabels(expr, of);
    case 'binary':
      return matchedLabels(expr, of);
    default:
      return [];
  }
}

function aggregatedLabels(expr: Aggregation, of: LabelsOfSelector): readonly string[] {
  const inner = resultLabels(expr.expr, of);
  if (['topk', 'bottomk', 'limitk', 'limit_ratio'].includes(expr.op)) return inner;
  const grouped = expr.isWithout
    ? inner.filter((label) => !expr.grouping.includes(label))
    : expr.grouping.filter((label) => inner.includes(label));
  return expr.op === 'count_values' && expr.param?.kind === 'string' ? [...grouped, expr.param.value] : grouped;
}

function calledLabels({ func, args }: FunctionCall, of: LabelsOfSelector): readonly string[] {
  const argument = args.find((arg) => typeOf(arg) === 'vector' || typeOf(arg) === 'matrix');
  if (argument === undefined || UNLABELLED.has(func.name)) return [];
  const labels = resultLabels(argument, of);
  return func.name === 'histogram_quantile' ? labels.filter((label) => label !== 'le') : labels;
}

function matchedLabels({ op, lhs, rhs, matching }: BinaryExpr, of: LabelsOfSelector): readonly string[] {
  if (typeOf(lhs) !== 'vector') return resultLabels(rhs, of);
  const left = resultLabels(lhs, of);
  if (typeOf(rhs) !== 'vector' || op === 'and' || op === 'unless' || op === 'or') return left;
  if (matching.card === 'many-to-one') return left;
  if (matching.card === 'one-to-many') return resultLabels(rhs, of);
  return left.filter((label) => matching.labels.includes(label) === matching.isOn);
}
