import type { Ast } from './ast.js';

/** A table that a query names; parts that it does not name are empty. */
interface NamedTable {
  readonly catalog: string;
  readonly schema: string;
  readonly table: string;
}

/** Names in the text of a query. */
export interface QueryNames {
  readonly tables: readonly NamedTable[];
  /** As written, with the tables before them: `cpu.usage`. */
  readonly columns: readonly string[];
}

/** Tables that stand for TQL parts of the query. */
const MADE = /^__tql_\d+$/;

/** Returns the tables and columns that a query names, each once, in the order of its tree. */
export function namesInQuery(tree: Ast): QueryNames {
  const tables = new Map<string, NamedTable>();
  const columns = new Set<string>();
  const defined = new Set<string>();
  visit(tree, (node) => {
    const { key, value, type } = node;
    if (typeof key === 'string' && isObject(value) && 'query' in value) defined.add(key);
    if (node['class'] === 'COLUMN_REF') columns.add((node['column_names'] as readonly string[]).join('.'));
    if (type !== 'BASE_TABLE') return;
    const { catalog_name: catalog = '', schema_name: schema = '', table_name: table = '' } = node as Partial<Ast>;
    tables.set(JSON.stringify([catalog, schema, table]), { catalog, schema, table });
  });
  const isNamed = ({ schema, table }: NamedTable): boolean =>
    schema !== '' || !(defined.has(table) || MADE.test(table));
  return { tables: [...tables.values()].filter(isNamed), columns: [...columns] };
}

type JsonNode = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function visit(value: unknown, see: (node: JsonNode) => void): void {
  // Trees may be deep: no recursion.
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const node = rest.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (isObject(node)) see(node);
    const members: unknown[] = Object.values(node);
    for (const member of members.reverse()) rest.push(member);
  }
}
