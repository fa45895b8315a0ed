import { AlmanacError } from '#shared/errors/almanac-error';

import { call, copy, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionRule } from './function.js';
import { macroName } from './macros.js';

/** Builds an aggregate over the same window as `node`. */
function sameWindow(node: Ast, name: string, ...children: readonly Ast[]): Ast {
  return { ...copy(node), alias: '', function_name: name, children: children.map(copy) };
}

/** How far a value is from the others of its window; spread and centre come from the engine's own window functions. */
const score = (
  name: string,
  arity: number,
  parts: (node: Ast, value: Ast, rest: readonly Ast[]) => Ast[],
): FunctionRule => ({
  names: [name],
  inWindows: true,
  rewrite(node, context) {
    if (node.class !== 'WINDOW') {
      throw new AlmanacError('plan_query', `Failed to plan SQL: ${name} needs an OVER clause`);
    }
    const [value, ...rest] = argumentsOf(node, arity, arity);
    const arguments_ = [copy(value), sameWindow(node, 'count', value), ...parts(node, value, rest)];
    return context.typed(call(macroName(name), ...arguments_), 'float');
  },
});

/** Anomaly scores; window functions only. */
export const ANOMALY_FUNCTIONS: readonly FunctionRule[] = [
  score('anomaly_score_zscore', 1, (node, value) => [
    sameWindow(node, 'avg', value),
    sameWindow(node, 'stddev_pop', value),
  ]),
  score('anomaly_score_mad', 1, (node, value) => [sameWindow(node, 'median', value), sameWindow(node, 'mad', value)]),
  score('anomaly_score_iqr', 2, (node, value, [k]) => [
    k,
    ...[0.25, 0.75].map((q) => sameWindow(node, 'quantile_cont', value, quantile(q))),
  ]),
];

function quantile(value: number): Ast {
  return {
    class: 'CONSTANT',
    type: 'VALUE_CONSTANT',
    alias: '',
    value: { type: { id: 'DOUBLE', type_info: null }, is_null: false, value },
  };
}
