import { call, cast, textNode, type Ast } from '../syntax/ast.js';
import { BOUNDED_FUNCTIONS } from './bounded.js';
import { ANOMALY_FUNCTIONS } from './anomaly.js';
import { argumentsOf, renamed, type FunctionContext, type FunctionRule } from './function.js';
import { CELL_FUNCTIONS } from './cells.js';
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
  renamed('list_length', 'len'),
  renamed('list_join', 'array_to_string'),
  renamed('list_to_string', 'array_to_string'),
  renamed('array_join', 'array_to_string'),
  renamed('list_push_back', 'list_append'),
  renamed('list_push_front', 'list_prepend'),
  renamed('list_pop_back', 'array_pop_back'),
  renamed('list_pop_front', 'array_pop_front'),
  renamed('array_max', 'list_max'),
  renamed('array_min', 'list_min'),
];

/** Adds the order of time to an aggregate without an order. */
function byTime(node: Ast, context: FunctionContext): Ast {
  if ((node.order_bys?.orders ?? []).length > 0) return node;
  const [value] = node.children ?? [];
  const time = value && context.timeIndexFor(value);
  const orders = time === undefined ? [] : [{ type: 'ASCENDING', null_order: 'ORDER_DEFAULT', expression: time }];
  return Object.assign(node, { order_bys: { type: 'ORDER_MODIFIER', orders } });
}

/** `first_value` and `last_value` outside a window are aggregates; without ORDER BY they go by time. */
const ordered = (name: string, target: string): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    if (node.class !== 'FUNCTION') return node;
    return Object.assign(byTime(node, context), { function_name: target });
  },
});

/** `nth_value(x, n [ORDER BY y])` outside a window; without ORDER BY it goes by time. */
const nthValue: FunctionRule = {
  names: ['nth_value'],
  rewrite(node, context) {
    const [value, position] = argumentsOf(node, 2, 2);
    const list: Ast = { ...byTime({ ...node, children: [value] }, context), alias: '', function_name: 'list' };
    return context.typed(call('list_extract', list, position), context.typeOf(value));
  },
};

/** `approx_quantile(x, 0.95)`: the engine takes fractions as FLOAT only. */
const approxQuantile: FunctionRule = {
  names: ['approx_quantile'],
  rewrite(node, context) {
    const isFraction = (child: Ast): boolean => context.literalOf(child)?.kind === 'decimal';
    const children = (node.children ?? []).map((child, i) =>
      i > 0 && isFraction(child) ? cast(child, 'FLOAT') : child,
    );
    return Object.assign(node, { children });
  },
};

/** Lists of lists become one list first: the engine does not nest calls. */
const unnest: FunctionRule = {
  names: ['unnest'],
  rewrite(node) {
    const [list] = node.children ?? [];
    const isNested = list?.class === 'FUNCTION' && list.function_name === 'unnest' && list.children?.length === 1;
    return isNested ? Object.assign(node, { children: [call('flatten', ...(list.children ?? []))] }) : node;
  },
};

const coalesce: FunctionRule = {
  names: ['nvl', 'ifnull'],
  rewrite: (node) => ({ class: 'OPERATOR', type: 'OPERATOR_COALESCE', alias: '', children: node.children ?? [] }),
};

/** `(a, b)`. The engine gives its members no names, without which one value would hide another. */
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
  ...CELL_FUNCTIONS,
  ...IP_FUNCTIONS,
  ...SESSION_FUNCTIONS,
  ...SKETCH_FUNCTIONS,
  ...SQL_VECTOR_FUNCTIONS,
  coalesce,
  nthValue,
  approxQuantile,
  unnest,
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

/** Loads what the functions of a query need. @param tree the query's syntax tree. */
export async function loadFunctions(tree: unknown): Promise<void> {
  const loads = new Set<() => Promise<void>>();
  collectLoads(tree, loads);
  for (const load of loads) await load();
}

function collectLoads(tree: unknown, loads: Set<() => Promise<void>>): void {
  if (tree === null || typeof tree !== 'object') return;
  const name = (tree as Ast).function_name;
  const load = name === undefined ? undefined : OWN_FUNCTIONS.get(name)?.load;
  if (load !== undefined) loads.add(load);
  for (const child of Object.values(tree)) collectLoads(child, loads);
}
