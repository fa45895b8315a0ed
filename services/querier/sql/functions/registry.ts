import { call, textNode, type Ast } from '../syntax/ast.js';
import { BOUNDED_FUNCTIONS } from './bounded.js';
import { ANOMALY_FUNCTIONS } from './anomaly.js';
import { renamed, type FunctionRule } from './function.js';
import { GEO_FUNCTIONS } from './geo.js';
import { IP_FUNCTIONS } from './ip.js';
import { JSON_FUNCTIONS } from './json.js';
import { MACRO_FUNCTIONS } from './macros.js';
import { NUMBER_FUNCTIONS } from './numbers.js';
import { SESSION_FUNCTIONS } from './session.js';
import { SKETCH_FUNCTIONS } from './sketches.js';
import { SQL_TEXT_FUNCTIONS } from './texts.js';
import { TEXT_SEARCH_FUNCTIONS } from './text-search.js';
import { TIME_FUNCTIONS } from './time.js';
import { SQL_VECTOR_FUNCTIONS } from './vectors.js';

/** Regular expression operators. The engine only matches whole texts. */
const matches = (name: string, options: string, negated: boolean): FunctionRule => ({
  names: [name],
  rewrite(node) {
    const match = call('regexp_matches', ...(node.children ?? []), ...(options === '' ? [] : [textNode(options)]));
    return negated ? ({ class: 'OPERATOR', type: 'OPERATOR_NOT', alias: '', children: [match] } satisfies Ast) : match;
  },
});

/** Functions that have another name in the engine. */
const RENAMED: readonly FunctionRule[] = [
  renamed('approx_distinct', 'approx_count_distinct'),
  renamed('covar', 'covar_samp'),
  renamed('var', 'var_samp'),
  renamed('var_sample', 'var_samp'),
  renamed('var_population', 'var_pop'),
  renamed('regexp_like', 'regexp_matches'),
  renamed('signum', 'sign'),
  renamed('rand', 'random'),
  renamed('std', 'stddev_pop'),
  renamed('variance', 'var_pop'),
  renamed('btrim', 'trim'),
  renamed('make_array', 'list_value'),
  renamed('array_element', 'list_extract'),
  renamed('get_field', 'struct_extract'),
  renamed('array_max', 'list_max'),
  renamed('array_min', 'list_min'),
];

/** `first_value` and `last_value` outside a window are aggregates; without ORDER BY they go by time. */
const ordered = (name: string, target: string): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    if (node.class !== 'FUNCTION') return node;
    const time = context.timeIndex();
    const orders = node.order_bys?.orders ?? [];
    const byTime = {
      type: 'ORDER_MODIFIER',
      orders: time === undefined ? [] : [{ type: 'ASCENDING', null_order: 'ORDER_DEFAULT', expression: time }],
    };
    return Object.assign(node, { function_name: target, order_bys: orders.length > 0 ? node.order_bys : byTime });
  },
});

const coalesce: FunctionRule = {
  names: ['nvl', 'ifnull'],
  rewrite: (node) => ({ class: 'OPERATOR', type: 'OPERATOR_COALESCE', alias: '', children: node.children ?? [] }),
};

/** `(a, b)`. The engine gives its members no names, without which their values cannot be told apart. */
const row: FunctionRule = {
  names: ['row'],
  rewrite: (node) => call('struct_pack', ...(node.children ?? []).map((child, i) => ({ ...child, alias: `c${i}` }))),
};

const RULES: readonly FunctionRule[] = [
  row,
  ...TIME_FUNCTIONS,
  ...RENAMED,
  ...BOUNDED_FUNCTIONS,
  ...TEXT_SEARCH_FUNCTIONS,
  ...MACRO_FUNCTIONS,
  ...JSON_FUNCTIONS,
  ...ANOMALY_FUNCTIONS,
  ...NUMBER_FUNCTIONS,
  ...SQL_TEXT_FUNCTIONS,
  ...GEO_FUNCTIONS,
  ...IP_FUNCTIONS,
  ...SESSION_FUNCTIONS,
  ...SKETCH_FUNCTIONS,
  ...SQL_VECTOR_FUNCTIONS,
  coalesce,
  ordered('first_value', 'first'),
  ordered('last_value', 'last'),
  matches('@~@', '', false),
  matches('!@~@', '', true),
  matches('~*', 'i', false),
  matches('!~*', 'i', true),
];

/** Functions that are rewritten to what the engine can run, by name. */
export const OWN_FUNCTIONS: ReadonlyMap<string, FunctionRule> = new Map(
  RULES.flatMap((rule) => rule.names.map((name) => [name, rule])),
);
