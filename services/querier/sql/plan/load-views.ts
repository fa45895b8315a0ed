import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { View } from '#shared/contracts/gen/metadata';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { hasRanges, rewriteRanges } from '../range/rewrite-ranges.js';
import type { ConstantContext } from '../range/constants.js';
import { spanText } from '../range/spans.js';
import type { Ast } from '../syntax/ast.js';
import { itemTexts } from '../syntax/item-names.js';
import { lexSql } from '../syntax/lex.js';
import type { Literal } from '../syntax/literals.js';
import type { QueryText } from '../syntax/query-text.js';
import { hasStar, nameItems } from './item-aliases.js';
import { checkSandbox } from './sandbox.js';
import type { TableNames } from './table-names.js';
import { isView } from '../system-tables/view-columns.js';

/** Largest number of views that are nested in each other. */
export const VIEW_DEPTH_MAX = 16;

/** A view as a part of one query. */
export interface ViewBody {
  readonly view: View;
  /** Its query; parameters are positions in the literals of the whole query. */
  readonly query: Ast;
  /** Finds what its query names. */
  readonly lookup: SourceLookup;
}

/** Finds a table or a view by the parts of a reference, of which all but the last may be empty. */
export type SourceLookup = (catalog: string, database: string, name: string) => Table | ViewBody;

/** Parses a query. @throws `invalid_syntax`, `unsupported`. */
export type ParseView = (query: QueryText) => Promise<{ readonly ast: Ast; readonly literals: readonly Literal[] }>;

/** What loading the views of a query needs. */
export interface ViewLoading {
  readonly names: TableNames;
  readonly parse: ParseView;
  readonly constants: ConstantContext;
  readonly call: Call;
}

/** Whether a source of rows is a view. */
export function isViewBody(source: Table | ViewBody): source is ViewBody {
  return 'view' in source;
}

/** Finds the tables and views that a query names, and those that its views name, before the query is resolved. */
export class ViewLoader {
  readonly #loading: ViewLoading;
  /** By the view's ID; an error if it cannot be read, which matters only where the query reads it. */
  readonly #bodies = new Map<number, ViewBody | AlmanacError>();
  readonly #views: View[] = [];
  readonly #literals: Literal[];
  readonly #texts: string[] = [];
  #isVolatile = false;
  #depth = 0;

  /** @param literals those of the query itself; those of views are added. */
  constructor(loading: ViewLoading, literals: readonly Literal[]) {
    this.#loading = loading;
    this.#literals = [...literals];
  }

  /** The views that were found. */
  get views(): readonly View[] {
    return this.#views;
  }

  /** The number of views that are nested in each other. */
  get depth(): number {
    return this.#depth;
  }

  /** The literals of the query, followed by those of views. */
  get literals(): readonly Literal[] {
    return this.#literals;
  }

  /** The texts of all views. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  /** Whether a view depends on the instant of the request in more than its literals. */
  get isVolatile(): boolean {
    return this.#isVolatile;
  }

  /**
   * Looks up everything that a query names.
   *
   * @param database of unqualified names. @param depth of the query: zero, or the number of views around it.
   * @returns a lookup for the resolver, which throws for what is missing: only the resolver knows which names are common
   *   table expressions.
   */
  async lookupFor(query: Ast, database: string, depth = 0): Promise<SourceLookup> {
    const { names } = this.#loading;
    const found = new Map<string, Table | ViewBody | AlmanacError | undefined>();
    for (const { catalog, schema, name } of references(query)) {
      const owner = names.databaseOf(catalog, schema, database);
      const key = `${owner}\0${name}`;
      if (!found.has(key)) found.set(key, await this.#source(owner, name, depth));
    }
    return (catalog, schema, name) => {
      const owner = names.databaseOf(catalog, schema, database);
      const source = found.get(`${owner}\0${name}`);
      if (source === undefined) throw names.notFound(owner, name, 'Failed to plan SQL: ');
      if (source instanceof AlmanacError) throw source;
      return source;
    };
  }

  async #source(database: string, name: string, depth: number): Promise<Table | ViewBody | AlmanacError | undefined> {
    const { names, call } = this.#loading;
    const source = await names.findSource(database, name, call);
    if (source === undefined || !isView(source)) return source;
    const known = this.#bodies.get(source.viewId);
    if (known !== undefined) return known;
    const fullName = names.fullName(database, name);
    if (depth === VIEW_DEPTH_MAX) {
      const text = `Failed to plan SQL: views are nested more than ${VIEW_DEPTH_MAX} deep at view ${fullName}`;
      return new AlmanacError('plan_query', text);
    }
    // While its own query is read, the view is a reference to itself.
    const text = `Failed to plan SQL: view ${fullName} refers to itself`;
    this.#bodies.set(source.viewId, new AlmanacError('plan_query', text));
    const body = await this.#load(source, depth + 1).catch((error: unknown) => {
      if (error instanceof AlmanacError) return error;
      throw error;
    });
    this.#bodies.set(source.viewId, body);
    return body;
  }

  async #load(view: View, depth: number): Promise<ViewBody> {
    const { parse } = this.#loading;
    this.#views.push(view);
    this.#depth = Math.max(this.#depth, depth);
    this.#texts.push(view.query);
    const text = await this.#withoutRanges(view);
    const items = itemTexts(text);
    const own = await parse(text);
    const isOpen = hasStar(own.ast);
    const { ast, literals } = isOpen ? await parse(columnsOf(view, text)) : own;
    const inner = isOpen ? ast.from_table?.subquery?.node : ast;
    if (inner !== undefined) nameItems(inner, (i) => items[i] ?? `column${i}`);
    checkSandbox(ast);
    shiftParameters(ast, this.#literals.length);
    this.#literals.push(...literals);
    return { view, query: ast, lookup: await this.lookupFor(ast, view.queryDatabase, depth) };
  }

  async #withoutRanges({ query: sql, queryDatabase }: View): Promise<QueryText> {
    const { names, constants, call } = this.#loading;
    const query = queryOf(sql);
    if (!hasRanges(query)) return query;
    this.#isVolatile = true;
    const rewritten = await rewriteRanges(query, {
      ...constants,
      find: (schema, name) => names.getSource(names.databaseOf('', schema, queryDatabase), name, call),
    });
    return rewritten.query;
  }
}

function queryOf(sql: string): QueryText {
  const tokens = lexSql(sql);
  return { tokens, from: 0, to: tokens.count };
}

/** A query of which items mean all columns of a table keeps the columns that the table had when the view was created. */
function columnsOf({ columns }: View, text: QueryText): QueryText {
  const list = columns.map(({ source }) => quoteName(source)).join(', ');
  return queryOf(`SELECT ${list} FROM (${spanText(text)}\n)`);
}

/** Moves the parameters of a tree after `count` others. */
export function shiftParameters(tree: unknown, count: number): void {
  if (tree === null || typeof tree !== 'object') return;
  const node = tree as Partial<Ast>;
  if (node.class === 'PARAMETER') node.identifier = String(Number(node.identifier) + count);
  for (const value of Object.values(tree)) shiftParameters(value, count);
}

interface Reference {
  readonly catalog: string;
  readonly schema: string;
  readonly name: string;
}

function references(tree: unknown): Reference[] {
  if (tree === null || typeof tree !== 'object') return [];
  if (Array.isArray(tree)) return tree.flatMap(references);
  const node = tree as Ast & Record<string, unknown>;
  const own =
    node.type === 'BASE_TABLE' && node.class === undefined
      ? [{ catalog: node.catalog_name ?? '', schema: node.schema_name ?? '', name: node.table_name ?? '' }]
      : [];
  return [...own, ...Object.values(node).flatMap(references)];
}
