import { LRUCache } from 'lru-cache';

import type { Call } from '#shared/contracts/call';
import type { View } from '#shared/contracts/gen/metadata';
import type { Catalog } from '#shared/discovery/catalog';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Ast } from '../syntax/ast.js';
import { loadFunctions } from '../functions/registry.js';
import { itemTexts } from '../syntax/item-names.js';
import { nameMarker } from './item-aliases.js';
import { areSameTables, sourceOf } from '../../snapshot/logical-table.js';
import type { Literal } from '../syntax/literals.js';
import type { GivenTable } from '../system-tables/given-table.js';
import { kernelShapeOf, type KernelRefusal, type KernelShape } from './kernel/kernel-shape.js';
import type { PlanTable } from './plan-table.js';
import { liftedRange, parseFlat, rangeShapeOf, type LiftedRange } from './kernel/range-shape.js';
import type { QueryText } from '../syntax/query-text.js';
import { resolveQuery, type NamedSource, type ResolvedQuery, type ResolveOptions } from './resolve.js';
import { lift, planShapeOf, type LiftedQuery } from './lift-literals.js';
import { parseByEngine, serializedTree, type ParsedQuery } from './engine-parser.js';
import { ViewLoader, type SourceLookup } from './load-views.js';
import { checkSandbox } from './sandbox.js';
import { printedQuery, type PrintedQuery } from './printed-query.js';
import { QueryTemplates, templateOf } from './query-template.js';
import { smallResult } from './small-result.js';
import type { TableNames } from './table-names.js';
import { inlineTql } from '../syntax/inline-tql.js';
import { checkRanges } from '../range/check-ranges.js';
import type { ConstantContext } from '../range/constants.js';
import type { RangeDurations } from '../range/flat-range.js';
import type { RewrittenRanges } from '../range/rewrite-ranges.js';

const QUERY_BYTES_MAX = 1024 * 1024;
const SET_OPERATIONS_MAX = 200;
const READY_CHARS_MAX = 64 * 1024;

/** A query that is parsed, checked, resolved and rewritten; a run only adds literals and a snapshot. */
export interface QueryPlan {
  readonly tables: readonly PlanTable[];
  /** The views that it reads, also through others. */
  readonly views: readonly View[];
  /** Number of views that are nested in each other. */
  readonly viewDepth: number;
  /** Literals of the views, which follow those of the query. */
  readonly viewLiterals: readonly Literal[];
  /** Tables and views that the query itself names. */
  readonly sources: readonly NamedSource[];
  /** Whether the result is small enough to be materialised at once. @param literals those of the run. */
  isSmall(literals: readonly Literal[]): boolean;
  /** Native types of result columns that the engine's type does not determine, by position. */
  readonly declaredTypes: ReadonlyMap<number, string>;
  /** Identifies the plan in this process. */
  readonly number: number;
  /** How kernels run the query, or why they cannot. */
  readonly kernel: KernelShape | KernelRefusal;
  /** Prints the query for the engine, once: kernels do not need it. */
  printed(connection: QueryConnection): Promise<PrintedQuery>;
}

/** A query of one request: its plan, and what this request's text adds to it. */
export interface PlannedQuery {
  readonly plan: QueryPlan;
  /** Those of the query, then of its flat query, then of its views. */
  readonly literals: readonly Literal[];
  /** Undefined: kernels do not run it as a range query. */
  readonly durations?: RangeDurations | undefined;
  /** Texts of the outermost select items, which name items without an alias. */
  readonly itemNames: readonly string[];
}

/** A query whose plan is found by its text alone. */
export interface KnownQuery {
  /** Its text, from its first word to its last. */
  readonly text: string;
  /**
   * Returns the planned query; undefined if the catalog has changed since.
   *
   * @throws `access_denied`, `permission_denied`.
   */
  readonly ready: (call: Call) => PlannedQuery | undefined;
}

/** Options of the planner. */
export interface PlanOptions {
  readonly catalog: Catalog;
  readonly names: TableNames;
  readonly entries: number;
}

/** Where names of a query are looked up. */
export interface NameScope {
  /** Database of unqualified names. */
  readonly database: string;
  /** Tables that belong to the statement; they take precedence. */
  readonly given: ReadonlyMap<string, GivenTable>;
  /** What the constants of range queries in views depend on. */
  readonly constants: ConstantContext;
}

interface CacheEntry {
  readonly plan: QueryPlan;
  /** What makes its flat query the same as that of another run; undefined: it is no range query. */
  readonly flatShape: string | undefined;
  version: bigint;
  /** Whether a template leads to it. */
  hasTemplate: boolean;
}

/** A plan for the texts of a template. */
interface TemplatePlan {
  readonly database: string;
  readonly entry: CacheEntry;
  readonly itemNames: readonly string[];
}

/**
 * Plans queries and caches plans by the text without its literals, so that a repeated query costs its tokens and a lookup. A
 * plan is valid while its tables have the same columns.
 */
export class Planner {
  readonly #catalog: Catalog;
  readonly #names: TableNames;
  readonly #cache: LRUCache<string, CacheEntry>;
  readonly #templates = new QueryTemplates<TemplatePlan>();
  #planCount = 0;
  hits = 0;
  misses = 0;

  constructor({ catalog, names, entries }: PlanOptions) {
    this.#catalog = catalog;
    this.#names = names;
    this.#cache = new LRUCache({ max: Math.max(entries, 1) });
  }

  /**
   * Plans a query, or returns the cached plan.
   *
   * @param names where unqualified table names are looked up.
   * @param ranges of a query that was a range query: how kernels run it, or why they cannot.
   * @throws `invalid_syntax`, `plan_query`, `unsupported`, `table_not_found`.
   */
  async plan(
    query: QueryText,
    names: NameScope,
    connection: QueryConnection,
    call: Call,
    ranges?: RewrittenRanges['flat'],
  ): Promise<PlannedQuery> {
    const { database, given } = names;
    const { lifted, key, cached } = this.#lookUp(query, database);
    const flat = liftedRange(ranges);
    const itemNames = itemTexts(query);
    const planned = (plan: QueryPlan, own: readonly Literal[]): PlannedQuery => ({
      plan,
      literals: [...own, ...flat.literals, ...plan.viewLiterals],
      durations: flat.durations,
      itemNames,
    });
    if (cached !== undefined && cached.flatShape === flat.shape && (await this.#isFresh(cached, call))) {
      this.hits++;
      return planned(cached.plan, lifted.literals);
    }
    this.misses++;
    const version = this.#catalog.version;
    const parsed = await parseByEngine(query, lifted, connection);
    const { plan, isVolatile } = await this.#build(parsed, names, connection, call, flat).catch((error: unknown) => {
      throw isTooDeep(error) ? tooDeep(error) : error;
    });
    // With literals inside, the text is no shape that other queries share; a given table exists once.
    if (!parsed.keepsLiterals && given.size === 0 && !isVolatile) {
      this.#cache.set(key, { plan, version, flatShape: flat.shape, hasTemplate: false });
    }
    return planned(plan, parsed.lifted.literals);
  }

  /**
   * Returns the plan of a query, if it is cached and nothing has changed in the catalog since; undefined otherwise, or if it
   * must be looked at again.
   *
   * @throws `access_denied`, `permission_denied`.
   */
  ready(query: QueryText, database: string, call: Call): PlannedQuery | undefined {
    // Looking a long text up twice would take long.
    if (query.tokens.end(query.to - 1) - query.tokens.start(query.from) > READY_CHARS_MAX) return undefined;
    const { lifted, cached } = this.#lookUp(query, database);
    if (cached?.version !== this.#catalog.version || cached.plan.views.length > 0) return undefined;
    if (cached.flatShape !== undefined) return undefined;
    const { plan } = cached;
    if (plan.tables.some(({ table }) => sourceOf(table) !== undefined)) return undefined;
    for (const { table } of plan.tables) this.#names.checkReadable(table.database, call);
    const itemNames = itemTexts(query);
    this.#addTemplate(query, lifted, { database, entry: cached, itemNames });
    return { plan, literals: lifted.literals, durations: undefined, itemNames };
  }

  #addTemplate(query: QueryText, lifted: LiftedQuery, value: TemplatePlan): void {
    const { entry } = value;
    if (entry.hasTemplate || 'refusal' in entry.plan.kernel) return;
    const template = templateOf(query, lifted);
    if (template === undefined) return;
    entry.hasTemplate = true;
    const removed = this.#templates.add(template, value);
    if (removed !== undefined) removed.entry.hasTemplate = false;
  }

  /** Finds the plan of the only query of a text that differs from an earlier one in literals alone. */
  known(text: string, database: string): KnownQuery | undefined {
    const { version } = this.#catalog;
    const found = this.#templates.find(text, (it) => it.database === database && it.entry.version === version);
    if (found === undefined) return undefined;
    const { template, literals } = found;
    const { entry, itemNames } = found.value;
    return {
      text: text.slice(template.leading, text.length - template.trailing),
      ready: (call) => {
        if (version !== this.#catalog.version) return undefined;
        for (const { table } of entry.plan.tables) this.#names.checkReadable(table.database, call);
        return { plan: entry.plan, literals, durations: undefined, itemNames };
      },
    };
  }

  #lookUp(
    query: QueryText,
    database: string,
  ): { readonly lifted: LiftedQuery; readonly key: string; readonly cached: CacheEntry | undefined } {
    checkSize(query);
    const lifted = lift(query.tokens, query.from, query.to, false);
    const key = `${database}\0${planShapeOf(lifted)}`;
    return { lifted, key, cached: this.#cache.get(key) };
  }

  /** Returns the tree of a query, with its literals. @throws `invalid_syntax`, `unsupported`. */
  async parse(query: QueryText, connection: QueryConnection): Promise<Ast> {
    checkSize(query);
    return (await parseByEngine(query, lift(query.tokens, query.from, query.to, true), connection)).ast;
  }

  /** Returns the tree of a query with its range and TQL parts replaced, without their literals. @throws `invalid_syntax`. */
  async tree(text: QueryText, connection: QueryConnection): Promise<Ast> {
    return this.parse(await checkRanges(inlineTql(text).query), connection);
  }

  /** Checks the grammar alone. @throws `invalid_syntax`. */
  async check(text: QueryText, database: string, connection: QueryConnection): Promise<void> {
    const query = await checkRanges(inlineTql(text).query);
    checkSize(query);
    const lifted = lift(query.tokens, query.from, query.to, false);
    if (!this.#cache.has(`${database}\0${planShapeOf(lifted)}`)) await parseByEngine(query, lifted, connection);
  }

  /** Returns the columns of the tables and views of a query that was just planned, for messages; at most 100. */
  fieldsOf(query: QueryText, database: string): string[] {
    const key = `${database}\0${planShapeOf(lift(query.tokens, query.from, query.to, false))}`;
    const sources = this.#cache.get(key)?.plan.sources ?? [];
    return sources.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column}`)).slice(0, 100);
  }

  /** Whether a query that was just planned reads views, or it is not known. */
  readsViews(query: QueryText, database: string): boolean {
    const key = `${database}\0${planShapeOf(lift(query.tokens, query.from, query.to, false))}`;
    return this.#cache.get(key)?.plan.views.length !== 0;
  }

  /** Checks whether the plan's tables are unchanged, if anything changed since, and updates their state. */
  async #isFresh(entry: CacheEntry, call: Call): Promise<boolean> {
    const version = this.#catalog.version;
    const isKnown = entry.version === version;
    for (const { database, name, viewId } of entry.plan.views) {
      if ((await this.#names.findView(database, name, call))?.viewId !== viewId) return false;
    }
    // The plan may be that of another user.
    for (const { table } of entry.plan.tables) this.#names.checkReadable(table.database, call);
    for (const plan of entry.plan.tables) {
      // A metric gets labels without a change of the catalog.
      if (isKnown && sourceOf(plan.table) === undefined) continue;
      const table = await this.#names.current(plan.table, call);
      if (table === undefined || !areSameTables(table, plan.table)) return false;
      plan.table = table;
    }
    entry.version = version;
    return true;
  }

  async #resolve(ast: Ast, options: ResolveOptions, call: Call): Promise<ResolvedQuery> {
    try {
      return resolveQuery(ast, options);
    } catch (error) {
      throw isTooDeep(error) ? error : await this.#names.hinted(error, call);
    }
  }

  async #build(
    parsed: ParsedQuery,
    names: NameScope,
    connection: QueryConnection,
    call: Call,
    flat: LiftedRange,
  ): Promise<BuiltPlan> {
    const { ast, lifted } = parsed;
    checkSandbox(ast);
    await loadFunctions(ast);
    const parse = async (query: QueryText): Promise<{ ast: Ast; literals: readonly Literal[] }> => {
      const view = await parseByEngine(query, lift(query.tokens, query.from, query.to, false), connection);
      await loadFunctions(view.ast);
      return { ast: view.ast, literals: view.lifted.literals };
    };
    const { constants } = names;
    const ownLiterals = [...lifted.literals, ...flat.literals];
    const loader = new ViewLoader({ names: this.#names, parse, constants, call }, ownLiterals);
    const found = await loader.lookupFor(ast, names.database);
    const lookup: SourceLookup = (catalogName, schema, name) => {
      const given = catalogName === '' && schema === '' ? names.given.get(name) : undefined;
      return given ?? found(catalogName, schema, name);
    };
    const { literals, views, isVolatile } = loader;
    const markerPrefix = unusedPrefix([lifted.sql, ...loader.texts].join(' '));
    const isSmall = smallResult(ast);
    const resolved = await this.#resolve(ast, { lookup, literals, markerPrefix }, call);
    const planned = { literals, nameMarker: nameMarker(markerPrefix) };
    const flatQuery = await parseFlat(flat, lifted.literals.length, (it) =>
      parseByEngine(it.query, it.lifted, connection),
    );
    const kernel =
      flatQuery === undefined
        ? kernelShapeOf(ast, resolved, planned)
        : rangeShapeOf(flatQuery, (tree) => resolveQuery(tree, { lookup, literals, markerPrefix }), planned);
    let tree = serializedTree(ast);
    const { slots } = resolved.expressions;
    let printed: PrintedQuery | undefined;
    const print = async (by: QueryConnection): Promise<PrintedQuery> => {
      const text = await by.callText('SELECT json_deserialize_sql($1::JSON)', tree);
      tree = '';
      return printedQuery(text, markerPrefix, slots, literals.length);
    };
    // Cached plans keep no large tree.
    if ('refusal' in kernel || tree.length > TREE_CHARS_MAX) printed = await print(connection);
    const plan: QueryPlan = {
      tables: resolved.tables,
      views,
      viewDepth: loader.depth,
      viewLiterals: literals.slice(ownLiterals.length),
      sources: resolved.sources,
      isSmall,
      declaredTypes: resolved.declaredTypes,
      number: this.#planCount++,
      kernel,
      printed: async (by) => (printed ??= await print(by)),
    };
    return { plan, isVolatile };
  }
}

/** A plan, and whether it is only valid for the request that made it. */
interface BuiltPlan {
  readonly plan: QueryPlan;
  readonly isVolatile: boolean;
}

/** Reports whether the tree of a query was too deep for the functions that walk it. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
}

function tooDeep(cause: unknown): AlmanacError {
  return new AlmanacError('invalid_syntax', 'Invalid SQL syntax: sql parser error: expression is nested too deeply', {
    cause,
  });
}

function checkSize({ tokens, from, to }: QueryText): void {
  const bytes = tokens.end(to - 1) - tokens.start(from);
  if (bytes > QUERY_BYTES_MAX) {
    throw new AlmanacError('invalid_syntax', `query text is ${bytes} characters long, the limit is ${QUERY_BYTES_MAX}`);
  }
  let setOperations = 0;
  for (let i = from; i < to; i++) {
    if (tokens.isWord(i, 'UNION') || tokens.isWord(i, 'INTERSECT') || tokens.isWord(i, 'EXCEPT')) setOperations++;
  }
  if (setOperations > SET_OPERATIONS_MAX) {
    throw new AlmanacError(
      'invalid_syntax',
      `query has ${setOperations} set operations, the limit is ${SET_OPERATIONS_MAX}`,
    );
  }
}

function unusedPrefix(sql: string): string {
  let prefix = '__t';
  while (sql.includes(prefix)) prefix += '_';
  return prefix;
}

/** Length of the tree of a query that is printed when the engine needs it. */
const TREE_CHARS_MAX = 64 * 1024;
