import { AlmanacError } from '#shared/errors/almanac-error';

import { NATIVE_FUNCTIONS, TABLE_FUNCTIONS } from '../functions/native.js';
import { OWN_FUNCTIONS } from '../functions/registry.js';

const EXPRESSIONS = new Set([
  'BETWEEN',
  'CASE',
  'CAST',
  'COLLATE',
  'COLUMN_REF',
  'COMPARISON',
  'CONJUNCTION',
  'CONSTANT',
  'FUNCTION',
  'LAMBDA',
  'LAMBDA_REF',
  'OPERATOR',
  'PARAMETER',
  'POSITIONAL_REFERENCE',
  'STAR',
  'SUBQUERY',
  'WINDOW',
]);

/** Values of `type` of everything in a tree that is not an expression: query nodes, table references, modifiers, details. */
const NODES = new Set([
  'SELECT_NODE',
  'SET_OPERATION_NODE',
  'RECURSIVE_CTE_NODE',
  'CTE_NODE',
  'BASE_TABLE',
  'SUBQUERY',
  'JOIN',
  'TABLE_FUNCTION',
  'EXPRESSION_LIST',
  'EMPTY',
  'PIVOT',
  'LIMIT_MODIFIER',
  'LIMIT_PERCENT_MODIFIER',
  'ORDER_MODIFIER',
  'DISTINCT_MODIFIER',
  'ASCENDING',
  'DESCENDING',
  'ORDER_DEFAULT',
  'DECIMAL_TYPE_INFO',
  'LIST_TYPE_INFO',
  'STRUCT_TYPE_INFO',
  'ARRAY_TYPE_INFO',
  'MAP_TYPE_INFO',
  'STRING_TYPE_INFO',
  'GENERIC_TYPE_INFO',
]);

/**
 * Refuses trees that contain anything but known nodes and allowed functions, and drops what the conversion to SQL does not
 * need. Works by allow-lists: additions of a later engine are refused until they have been reviewed.
 *
 * @throws `plan_query` for a function that is not allowed or does not exist; `unsupported` for other nodes.
 */
export function checkSandbox(tree: unknown): void {
  if (tree === null || typeof tree !== 'object') return;
  if (Array.isArray(tree)) {
    for (const entry of tree) checkSandbox(entry);
    return;
  }
  const node = tree as Record<string, unknown>;
  // A missing position is 2^64 - 1, which a JavaScript number cannot represent.
  delete node['query_location'];
  if (typeof node['class'] === 'string') checkExpression(node);
  else if (typeof node['type'] === 'string') checkNode(node);
  for (const key of Object.keys(node)) checkSandbox(node[key]);
}

function checkExpression(node: Record<string, unknown>): void {
  if (!EXPRESSIONS.has(String(node['class']))) throw unsupported(String(node['class']));
  if (typeof node['function_name'] !== 'string') return;
  const { schema, catalog } = node;
  if ((schema !== '' && schema !== 'main') || (catalog !== undefined && catalog !== '')) {
    throw invalidFunction(`${String(schema)}.${node['function_name']}`);
  }
  const isOwn = OWN_FUNCTIONS.has(node['function_name']);
  if (!isOwn && !NATIVE_FUNCTIONS.has(node['function_name']) && !TABLE_FUNCTIONS.has(node['function_name'])) {
    throw invalidFunction(node['function_name']);
  }
}

function checkNode(node: Record<string, unknown>): void {
  const type = String(node['type']);
  if (!NODES.has(type)) throw unsupported(type);
  if (type === 'BASE_TABLE' && node['at_clause'] !== null && node['at_clause'] !== undefined) throw unsupported('AT');
  if (type !== 'TABLE_FUNCTION') return;
  const name = (node['function'] as { function_name?: unknown } | undefined)?.function_name;
  if (typeof name !== 'string' || !TABLE_FUNCTIONS.has(name)) throw invalidFunction(String(name));
}

/** What to use instead of functions that other databases have. */
const HINTS: readonly (readonly [names: RegExp, hint: string])[] = [
  [/^percentile(_approx|_exact)?$/, 'Quantiles are quantile_cont(x, 0.95).'],
  [/^(time|time_slice|date_histogram)$/, "Time buckets are date_bin(INTERVAL '5 minutes', ts)."],
  [
    /^(i?rate|i?delta|increase|deriv|histogram_quantile|\w+_over_time)$/,
    'PromQL runs by TQL EVAL (start, end, step) query.',
  ],
];

function invalidFunction(name: string): AlmanacError {
  const hint = HINTS.find(([names]) => names.test(name.toLowerCase()))?.[1];
  const text = `Failed to plan SQL: Invalid function '${name}'.`;
  return new AlmanacError('plan_query', hint === undefined ? text : `${text} ${hint}`);
}

function unsupported(part: string): AlmanacError {
  return new AlmanacError('unsupported', `Not supported: ${part.toLowerCase().replaceAll('_', ' ')} in a query`);
}
