/**
 * The engine's syntax tree, as `json_serialize_sql` returns it and `json_deserialize_sql` accepts it.
 *
 * One wide shape for expressions, table references and query nodes: `class` is set on expressions only, `type` on all.
 * Rewrites change it in place.
 */
export interface Ast {
  type: string;
  class?: string;
  alias?: string;
  // Expressions
  function_name?: string;
  schema?: string;
  catalog?: string;
  children?: Ast[];
  child?: Ast;
  left?: Ast;
  right?: Ast;
  input?: Ast;
  lower?: Ast;
  upper?: Ast;
  distinct?: boolean;
  export_state?: boolean;
  is_operator?: boolean;
  order_bys?: { type: string; orders: unknown[] };
  column_names?: string[];
  identifier?: string;
  cast_type?: AstType;
  value?: { type: AstType; is_null: boolean; value?: unknown };
  relation_name?: string;
  columns?: boolean;
  expr?: Ast | null;
  /** What a star leaves out, replaces and renames. */
  exclude_list?: string[];
  qualified_exclude_list?: unknown[];
  replace_list?: { key: string; value: Ast }[];
  rename_list?: unknown[];
  subquery?: { node: Ast; named_param_map?: unknown[] };
  filter?: Ast | null;
  // Table references
  catalog_name?: string;
  schema_name?: string;
  table_name?: string;
  column_name_alias?: string[];
  /** Rows of a VALUES list. */
  values?: Ast[][];
  at_clause?: unknown;
  function?: Ast;
  source?: Ast;
  join_type?: string;
  ref_type?: string;
  using_columns?: string[];
  condition?: Ast | null;
  // Query nodes
  select_list?: Ast[];
  from_table?: Ast;
  where_clause?: Ast | null;
  group_expressions?: Ast[];
  having?: Ast | null;
  qualify?: Ast | null;
  modifiers?: AstModifier[];
  cte_name?: string;
  cte_map?: { map: { key: string; value: { aliases: string[]; query: { node: Ast } } }[] };
  setop_type?: string;
}

/** A data type in the tree. */
export interface AstType {
  id: string;
  type_info?: unknown;
}

/** A clause after the select list: ORDER BY, LIMIT, DISTINCT. */
export interface AstModifier {
  type: string;
  limit?: Ast | null;
  offset?: Ast | null;
  orders?: { expression: Ast }[];
  distinct_on_targets?: Ast[];
}

const NO_ORDER = { type: 'ORDER_MODIFIER', orders: [] };

/** Builds a function call. */
export function call(name: string, ...children: Ast[]): Ast {
  return { ...functionNode(name, children), is_operator: false };
}

/** Reports whether a node is a call without DISTINCT, FILTER and ORDER BY. */
export function isPlainCall({ class: kind, distinct, filter, order_bys: order }: Ast): boolean {
  return kind === 'FUNCTION' && distinct !== true && !filter && (order?.orders ?? []).length === 0;
}

/** Builds a call of an operator. */
export function operator(name: string, ...children: Ast[]): Ast {
  return { ...functionNode(name, children), is_operator: true };
}

function functionNode(name: string, children: Ast[]): Ast {
  const rest = { filter: null, order_bys: NO_ORDER, distinct: false, export_state: false, catalog: '' };
  return { class: 'FUNCTION', type: 'FUNCTION', alias: '', function_name: name, schema: '', children, ...rest };
}

/** Builds a cast. @param typeId the engine's name of the type. */
export function cast(child: Ast, typeId: string): Ast {
  return {
    class: 'CAST',
    type: 'OPERATOR_CAST',
    alias: '',
    child,
    cast_type: { id: typeId, type_info: null },
    try_cast: false,
  } as Ast;
}

/** Builds a named parameter. */
export function parameter(identifier: string): Ast {
  return { class: 'PARAMETER', type: 'VALUE_PARAMETER', alias: '', identifier };
}

/** Builds an integer constant. */
export function integerConstant(value: number): Ast {
  return constant('BIGINT', value);
}

/** Builds a text constant. */
export function textNode(value: string): Ast {
  return constant('VARCHAR', value);
}

function constant(id: string, value: unknown): Ast {
  return {
    class: 'CONSTANT',
    type: 'VALUE_CONSTANT',
    alias: '',
    value: { type: { id, type_info: null }, is_null: false, value },
  };
}

/** Copies a tree. */
export function copy(node: Ast): Ast {
  return structuredClone(node);
}

/** Returns the value of a text constant, otherwise undefined. */
export function textConstant(node: Ast): string | undefined {
  return node.class === 'CONSTANT' && node.value?.type.id === 'VARCHAR' && typeof node.value.value === 'string'
    ? node.value.value
    : undefined;
}

/** Replaces the child expressions of an expression by the results of `map`. Subqueries are not entered. */
export function mapChildren(node: Ast, map: (child: Ast) => Ast): void {
  const record = node as unknown as Record<string, unknown>;
  for (const key of Object.keys(record)) {
    if (key === 'subquery' || key === 'value' || key === 'cast_type') continue;
    record[key] = mapValue(record[key], map);
  }
}

function mapValue(value: unknown, map: (child: Ast) => Ast): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((entry) => mapValue(entry, map));
  const record = value as Record<string, unknown>;
  if (typeof record['class'] === 'string') return map(record as unknown as Ast);
  for (const key of Object.keys(record)) record[key] = mapValue(record[key], map);
  return record;
}
