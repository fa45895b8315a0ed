import type { Table } from '#shared/contracts/gen/common';
import type { FlowInputs, View } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { OutputColumn } from '#shared/formats/format';
import { isExternal } from '#shared/schema/external-table';
import { tagsOf, timeIndexOf } from '#shared/schema/table-schema';

import { hasRanges } from '../range/rewrite-ranges.js';
import { describeQuery } from '../run/run-query.js';
import type { StatementContext } from '../statement.js';
import type { Ast } from '../syntax/ast.js';
import { Cursor } from '../syntax/cursor.js';
import { Kind, lexSql } from '../syntax/lex.js';
import { inlineTql } from '../syntax/inline-tql.js';
import type { QueryText } from '../syntax/query-text.js';
import { invalidTql, parseTql } from '../syntax/tql-text.js';
import { tqlSources } from '../tql/sources.js';
import { flowQuery, hasTql, isVolatile } from './query.js';
import { shapeOf, type QueryShape } from './window.js';

/** How a flow computes its results. */
export interface FlowPlan {
  readonly query: QueryText;
  /** Result columns. */
  readonly columns: readonly OutputColumn[];
  readonly shape: QueryShape;
  /** Tables that the query reads, each once. */
  readonly sources: readonly Table[];
  /** Views that the query reads, also through others. */
  readonly views: readonly View[];
  readonly isTql: boolean;
  /** Whether the result depends on when the query runs. */
  readonly isVolatile: boolean;
  /** Whether the flow reads only new rows and adds one row for each at most. */
  readonly isStreaming: boolean;
  /** Indexes of the result columns that are columns of the only source: its time index and its tags. */
  readonly sourceItems: { readonly time: number | undefined; readonly tags: readonly number[] };
}

const NO_SHAPE: QueryShape = {
  isProjection: false,
  window: undefined,
  windowItem: undefined,
  keyItems: [],
  isGrouped: false,
};

/**
 * Plans a flow.
 *
 * @param text the query as written.
 * @param hasInterval whether it is evaluated at an interval of its own.
 * @throws the errors of queries; `table_not_found` for a missing source.
 */
export async function planFlow(text: string, hasInterval: boolean, context: StatementContext): Promise<FlowPlan> {
  const query = flowQuery(text);
  const isTql = hasTql(query);
  const described = await describeQuery(context, query);
  const tables = described.plan.tables.map(({ table }) => table);
  checkSources(tables);
  // Results of PromQL have no ID.
  const stored = tables.filter(({ tableId }) => tableId !== 0);
  const sources = distinct([
    ...stored,
    ...(isTql
      ? await tqlSources(
          inlineTql(query).parts.map(({ text: tql }) => tql.query),
          context,
        )
      : []),
  ]);
  // A view may group its rows, so conditions on its columns may not be put into it.
  const { views } = described.plan;
  const isOpaque = isTql || hasRanges(query) || views.length > 0;
  const ast = isOpaque ? undefined : await parsed(query, context);
  const only = stored.length === 1 && ast !== undefined && isNamed(stored[0], ast, context) ? stored[0] : undefined;
  const shape = ast === undefined ? NO_SHAPE : shapeOf(ast, only);
  const columns = ast === undefined ? described.columns : named(described.columns, ast, only);
  return {
    ...{ query, columns, sources, isTql, shape },
    views,
    isVolatile: [query, ...views.map((view) => flowQuery(view.query))].some((it) => hasTql(it) || isVolatile(it)),
    isStreaming: shape.isProjection && !hasInterval,
    sourceItems: itemsOf(ast, only),
  };
}

/** Returns what the results of a flow depend on besides source rows. */
export function flowInputs({ views }: FlowPlan, sink: Table | undefined): FlowInputs {
  const viewIds = new Set(views.map(({ viewId }) => viewId));
  return { sinkTableId: sink?.tableId ?? 0, viewIds: [...viewIds].sort((a, b) => a - b) };
}

/**
 * A flow runs without a user, whose rights decide what the rows of system tables are, and learns of no changes of external tables.
 * @throws `unsupported`.
 */
function checkSources(tables: readonly Table[]): void {
  for (const table of tables) {
    const isSystem = table.tableId === 0 && table.database !== '';
    if (!isSystem && !isExternal(table)) continue;
    const kind = isSystem ? 'system' : 'external';
    const text = `Unsupported operation: a flow cannot read the ${kind} table ${table.database}.${table.name}`;
    throw new AlmanacError('unsupported', text);
  }
}

/** Whether FROM names a table itself, not a subquery of it, whose rows are other ones. */
function isNamed({ database, name }: Table, { from_table: from }: Ast, { session }: StatementContext): boolean {
  const { table_name: named, schema_name: schema = '' } = from ?? {};
  return named === name && (schema === '' ? session.database : schema) === database;
}

function parsed(query: QueryText, { deps }: StatementContext): Promise<Ast> {
  return deps.connections.use((connection) => deps.planner.parse(query, connection));
}

function distinct(tables: readonly Table[]): Table[] {
  return [...new Map(tables.map((table) => [`${table.database}\0${table.name}`, table])).values()];
}

/** Names result columns without an alias as their expressions read with the names of their tables. */
function named(columns: readonly OutputColumn[], ast: Ast, source: Table | undefined): readonly OutputColumn[] {
  const items = ast.select_list ?? [];
  if (source === undefined || items.length !== columns.length) return columns;
  return columns.map((column, i) => {
    const { alias = '', class: kind } = items[i];
    return alias !== '' || kind === 'COLUMN_REF' ? column : { ...column, name: qualified(column.name, source) };
  });
}

function qualified(expression: string, { name, columns }: Table): string {
  const tokens = lexSql(expression);
  let text = '';
  let copied = 0;
  for (let i = 0; i < tokens.count; i++) {
    const isName = tokens.kind(i) === Kind.word || tokens.kind(i) === Kind.quoted;
    if (!isName || tokens.isSymbol(i + 1, '(') || tokens.isSymbol(i - 1, '.') || tokens.isSymbol(i + 1, '.')) continue;
    if (!columns.some((column) => column.name === tokens.name(i))) continue;
    text += `${expression.slice(copied, tokens.start(i))}${name}.${tokens.name(i)}`;
    copied = tokens.end(i);
  }
  return text + expression.slice(copied);
}

function itemsOf(ast: Ast | undefined, source: Table | undefined): FlowPlan['sourceItems'] {
  if (ast === undefined || source === undefined) return { time: undefined, tags: [] };
  const columns = (ast.select_list ?? []).map(({ class: kind, column_names: names }) => {
    return kind === 'COLUMN_REF' ? names?.at(-1) : undefined;
  });
  const time = columns.indexOf(timeIndexOf(source).name);
  const tags = tagsOf(source).map(({ name }) => columns.indexOf(name));
  return { time: time === -1 ? undefined : time, tags: tags.filter((item) => item !== -1) };
}

/**
 * Checks that a flow can evaluate PromQL: a TQL statement, or all rows of one in a common table expression, whose times move
 * with the clock.
 *
 * @throws `invalid_arguments`, `invalid_syntax`.
 */
export function checkTqlFlow(text: string, hasInterval: boolean): void {
  const tokens = lexSql(text);
  const whole = { tokens, from: 0, to: tokens.count };
  if (!hasTql(whole)) return;
  const begin = tokens.isWord(0, 'TQL') ? 0 : simpleCte(whole);
  if (begin === undefined) {
    const reason = 'WITH is only supported for the simplest TQL CTE in CREATE FLOW';
    throw new AlmanacError('invalid_arguments', `Invalid flow query: ${reason}`);
  }
  let end = begin;
  while (tokens.kind(end) !== Kind.promql) end++;
  const { verb, parameters = [] } = parseTql(new Cursor(tokens, begin, end + 1));
  if (verb !== 'eval') throw invalidTql('only TQL EVAL is supported in CREATE FLOW');
  for (const parameter of parameters.slice(0, 2)) {
    if (isVolatile(parameter)) continue;
    const found = tokens.source.slice(tokens.start(parameter.from), tokens.end(parameter.to - 1)).slice(0, 60);
    throw invalidTql(`sql parser error: Expected expression containing \`now()\`, but have ${found}`);
  }
  if (!hasInterval) throw new AlmanacError('invalid_arguments', 'Invalid flow query: a TQL flow needs EVAL INTERVAL');
}

/** Returns where TQL begins in `WITH name [(columns)] AS (TQL ..) SELECT * FROM name`; undefined for any other query. */
function simpleCte({ tokens, from, to }: QueryText): number | undefined {
  const cursor = new Cursor(tokens, from, to);
  if (!cursor.accept('WITH')) return undefined;
  const name = cursor.name('name');
  if (!acceptColumns(cursor) || !cursor.accept('AS') || !cursor.acceptSymbol('(') || !cursor.sees('TQL')) {
    return undefined;
  }
  const begin = cursor.at;
  while (!cursor.done && tokens.kind(cursor.at) !== Kind.promql) cursor.at++;
  cursor.at++;
  return acceptAllOf(name, cursor) ? begin : undefined;
}

/** Reads a list of columns, if there is one. @returns whether it ends as one. */
function acceptColumns(cursor: Cursor): boolean {
  if (!cursor.acceptSymbol('(')) return true;
  do cursor.skipExpression();
  while (cursor.acceptSymbol(','));
  return cursor.acceptSymbol(')');
}

/** Whether `) SELECT * FROM name` is all that is left. */
function acceptAllOf(name: string, cursor: Cursor): boolean {
  const isAll =
    cursor.acceptSymbol(')') && cursor.accept('SELECT') && cursor.acceptSymbol('*') && cursor.accept('FROM');
  return isAll && cursor.at === cursor.to - 1 && cursor.tokens.name(cursor.at) === name;
}
