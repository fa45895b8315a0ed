import {
  typeOf,
  type Aggregation,
  type BinaryExpr,
  type FunctionCall,
  type Expr,
  type VectorSelector,
} from '../../promql/syntax/ast.js';

/** Returns the labels that the series of a selector can have. */
export type LabelsOfSelector = (selector: VectorSelector) => readonly string[];

/**
 * Returns the labels that the result of an expression can have, so that a table of the result has the same columns when it
 * is empty.
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
  const { selectsSeries, addsLabel } = expr.signature;
  if (selectsSeries === true) return inner;
  const grouped = expr.isWithout
    ? inner.filter((label) => !expr.grouping.includes(label))
    : expr.grouping.filter((label) => inner.includes(label));
  return addsLabel === true && expr.param?.kind === 'string' ? [...grouped, expr.param.value] : grouped;
}

function calledLabels({ func, args }: FunctionCall, of: LabelsOfSelector): readonly string[] {
  const argument = args.find((arg) => typeOf(arg) === 'vector' || typeOf(arg) === 'matrix');
  if (argument === undefined || func.dropsLabels === true) return [];
  return resultLabels(argument, of).filter((label) => label !== func.consumedLabel);
}

function matchedLabels({ op, lhs, rhs, matching }: BinaryExpr, of: LabelsOfSelector): readonly string[] {
  if (typeOf(lhs) !== 'vector') return resultLabels(rhs, of);
  const left = resultLabels(lhs, of);
  if (typeOf(rhs) !== 'vector' || op === 'and' || op === 'unless' || op === 'or') return left;
  if (matching.card === 'many-to-one') return left;
  if (matching.card === 'one-to-many') return resultLabels(rhs, of);
  return left.filter((label) => matching.labels.includes(label) === matching.isOn);
}
