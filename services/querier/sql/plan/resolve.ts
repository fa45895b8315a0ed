import type { Column, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';

import type { KnownType } from '../functions/function.js';
import { AGGREGATE_FUNCTIONS } from '../functions/native.js';
import { cast, copy, mapChildren, type Ast, type AstModifier } from '../syntax/ast.js';
import { knownTypeOf } from './known-types.js';
import { checkDistinctOrder } from './distinct-order.js';
import { nameItems, nameMarker } from './item-aliases.js';
import { isViewBody, type SourceLookup, type ViewBody } from './load-views.js';
import { collectTexts } from './text-conditions.js';
import {
  derived,
  entryOf,
  isSampled,
  mergedColumns,
  originsOf,
  passesConditions,
  renamedOutputs,
  starOutputs,
  unitedOutputs,
} from './outputs.js';
import { collectBounds, collectEquals, type PredicateScope } from './time-bounds.js';
import type { PlanTable } from './plan-table.js';
import { Expressions } from './expressions.js';
import {
  childScope,
  findCte,
  type ColumnOrigin,
  type Cte,
  type FromEntry,
  type ProvidedColumn,
  type Outputs,
  type Scope,
} from './scope.js';
import type { Literal } from '../syntax/literals.js';

/** Copies of views in one query: nested views can multiply each other. */
const VIEW_COPIES_MAX = 256;
/** Of the texts of all views that a query reads, as often as it does. */
const VIEW_CHARS_MAX = 256 * 1024;

/** A table or view in a FROM clause outside of views. */
export interface NamedSource {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Result of `resolveQuery`. */
export interface ResolvedQuery {
  readonly tables: readonly PlanTable[];
  readonly expressions: Expressions;
  readonly sources: readonly NamedSource[];
  /** Native types of result columns that the engine's type does not determine, by position. */
  readonly declaredTypes: ReadonlyMap<number, string>;
}

/** Options of `resolveQuery`. */
export interface ResolveOptions {
  readonly lookup: SourceLookup;
  readonly literals: readonly Literal[];
  /** Prefix of every marker; does not occur in the statement. */
  readonly markerPrefix: string;
}

/** Resolves all names of a checked query and rewrites its expressions, in place. */
export function resolveQuery(query: Ast, options: ResolveOptions): ResolvedQuery {
  const resolver = new Resolver(options);
  nameItems(query, (i) => nameMarker(options.markerPrefix) + String(i));
  const outputs = resolver.query(query, undefined) ?? [];
  checkResolved(query, options.markerPrefix);
  const declaredTypes = new Map(outputs.flatMap(({ known, column }, i) => declaredType(known, column, i)));
  const { expressions, sources } = resolver;
  return { tables: resolver.finishedTables(), expressions, sources, declaredTypes };
}

function declaredType(known: KnownType | undefined, column: Column | undefined, i: number): [number, string][] {
  if (known === 'json') return [[i, 'Json']];
  return known === 'vector' && column !== undefined ? [[i, column.type]] : [];
}

/** Every remaining table has a generated name: a part of the tree that was skipped would reach the engine's own tables. */
function checkResolved(tree: unknown, markerPrefix: string): void {
  if (tree === null || typeof tree !== 'object') return;
  const { type, table_name: name } = tree as Partial<Ast>;
  const isOurs = name === undefined || name.startsWith(markerPrefix) || name.startsWith(`c${markerPrefix}`);
  invariant(type !== 'BASE_TABLE' || isOurs, 'a table of a query was not resolved');
  for (const value of Object.values(tree)) checkResolved(value, markerPrefix);
}

/** Joins after which the columns of the right side cannot be named. */
const HIDES_RIGHT: ReadonlySet<string> = new Set(['SEMI', 'ANTI']);

class Resolver {
  readonly expressions: Expressions;
  readonly #options: ResolveOptions;
  readonly #tables: PlanTable[] = [];
  /** What conditions require of the rows of tables, if nothing else reads them. */
  readonly #required: { readonly origin: ColumnOrigin; readonly apply: () => void }[] = [];
  #cteCount = 0;
  readonly sources: NamedSource[] = [];
  #lookup: SourceLookup;
  #viewDepth = 0;
  #viewCopies = 0;
  #viewChars = 0;

  constructor(options: ResolveOptions) {
    this.#options = options;
    this.#lookup = options.lookup;
    this.expressions = new Expressions(options.literals, (node, scope) => {
      this.query(node, scope);
    });
  }

  /** Returns the tables; the columns that the query reads are only known after all of it was visited. */
  finishedTables(): PlanTable[] {
    for (const { origin, apply } of this.#required) if (origin.ctes.every(({ count }) => count === 1)) apply();
    for (const plan of this.#tables) {
      const time = plan.table.columns.find(({ kind }) => kind === 'time');
      if (time !== undefined) plan.columns.add(time.name);
      for (const { name } of plan.table.columns) {
        if (this.expressions.mentioned.has(name.toLowerCase())) plan.columns.add(name);
      }
    }
    return this.#tables;
  }

  query(node: Ast, parent: Scope | undefined): Outputs {
    const scope = childScope(parent);
    this.#ctes(node, scope);
    switch (node.type) {
      case 'SELECT_NODE':
        return this.#select(node, scope);
      case 'SET_OPERATION_NODE':
        return this.#setOperation(node, scope);
      default:
        throw new AlmanacError('unsupported', `Not supported: ${node.type.toLowerCase()} in a query`);
    }
  }

  /**
   * Common table expressions get names that nothing else in the engine has: if the engine scoped them differently, it would
   * find nothing instead of one of its own tables or of fresh rows.
   */
  #ctes(node: Ast, scope: Scope): void {
    for (const entry of node.cte_map?.map ?? []) {
      const { key, value } = entry;
      const marker = `c${this.#options.markerPrefix}${this.#cteCount++}`;
      const cte: Cte = { marker, outputs: undefined, uses: { count: 0 } };
      const inner = value.query.node;
      entry.key = cte.marker;
      if (inner.type === 'RECURSIVE_CTE_NODE') inner.cte_name = cte.marker;
      const outputs =
        inner.type === 'RECURSIVE_CTE_NODE'
          ? this.#recursive(inner, { scope: childScope(scope), name: key.toLowerCase(), cte })
          : this.query(inner, scope);
      scope.ctes.set(key.toLowerCase(), { ...cte, outputs: renamedOutputs(outputs, value.aliases) });
    }
  }

  #setOperation(node: Ast, scope: Scope): Outputs {
    const parts = [node.left, node.right, ...(node.children ?? [])].filter(
      (part): part is Ast => part !== undefined && part !== null,
    );
    const outputs = parts.map((part) => this.query(part, scope));
    for (const output of outputs[0] ?? []) scope.aliases.set(output.name.toLowerCase(), output.known);
    this.#modifiers(node, scope);
    return unitedOutputs(node, outputs);
  }

  /** Resolves a recursive common table expression; only its recursive part sees the expression itself. */
  #recursive(node: Ast, own: { readonly scope: Scope; readonly name: string; readonly cte: Cte }): Outputs {
    this.#ctes(node, own.scope);
    if (node.left !== undefined) this.query(node.left, own.scope);
    const inner = childScope(own.scope);
    inner.ctes.set(own.name, own.cte);
    if (node.right !== undefined) this.query(node.right, inner);
    this.#modifiers(node, inner);
    return undefined;
  }

  #select(node: Ast, scope: Scope): Outputs {
    const isPassed = passesConditions(node);
    if (node.from_table !== undefined) scope.entries.push(...this.#from(node.from_table, scope));
    this.#limitRows(node, scope);
    checkDistinctOrder(node, this.#options.literals);
    const outputs: ProvidedColumn[] = [];
    let isKnown = true;
    node.select_list = (node.select_list ?? []).map((item) => {
      const result = this.#item(item, scope);
      const expanded =
        result.class === 'STAR' ? starOutputs(result, scope, this.expressions) : [this.#output(result, scope)];
      if (expanded === undefined) isKnown = false;
      else outputs.push(...expanded);
      if ((result.alias ?? '') !== '') {
        scope.aliases.set((result.alias ?? '').toLowerCase(), this.expressions.knownType(result));
      }
      return result;
    });
    this.#clauses(node, scope);
    if (!isKnown) return undefined;
    return isPassed && passesConditions(node) ? outputs : outputs.map((output) => ({ ...output, origins: [] }));
  }

  /** A limit applies to the only table if nothing between them reads more rows. */
  #limitRows(node: Ast, { entries }: Scope): void {
    const [plan] = entries.length === 1 ? entries.map((entry) => entry.plan) : [];
    const [limit, ...others] = node.modifiers ?? [];
    if (plan === undefined || (limit as AstModifier | undefined)?.type !== 'LIMIT_MODIFIER' || others.length > 0) {
      return;
    }
    const isReduced = (node.group_expressions ?? []).length > 0 || hasAggregate(node.select_list);
    const count = limit.limit ? this.expressions.literalOf(limit.limit) : undefined;
    const skipped = limit.offset ? this.expressions.literalOf(limit.offset) : undefined;
    if (node.where_clause || node.qualify || isReduced || count === undefined) return;
    plan.rowLimit = (run) => Number(count.in(run).value) + Number(skipped?.in(run).value ?? 0);
  }

  #item(item: Ast, scope: Scope): Ast {
    const path = item.class === 'COLUMN_REF' ? (item.column_names ?? []) : [];
    const result = this.expressions.rewrite(item, scope);
    // A path in a JSON value is named by its last key.
    if (path.length > 1 && result.class === 'FUNCTION') result.alias ||= path.at(-1) ?? '';
    if (this.expressions.literalOf(result)?.kind !== 'integer') return result;
    const wide = cast(result, 'BIGINT');
    wide.alias = result.alias ?? '';
    result.alias = '';
    return wide;
  }

  #output(item: Ast, scope: Scope): ProvidedColumn {
    const found = this.expressions.columnOf(item);
    const name = (item.alias ?? '') !== '' ? (item.alias ?? '') : (item.column_names?.at(-1) ?? '');
    return {
      name,
      known: this.expressions.knownType(item),
      isTime: found?.output?.isTime,
      origins: originsOf(found, scope),
      ...(found?.output?.column === undefined ? {} : { column: found.output.column }),
    };
  }

  #clauses(node: Ast, scope: Scope): void {
    const rewrite = (part: Ast): Ast => this.expressions.rewrite(part, scope);
    if (node.where_clause) {
      node.where_clause = rewrite(node.where_clause);
      const place = this.#predicates(scope);
      collectEquals(node.where_clause, place);
      collectBounds(node.where_clause, place);
      node.where_clause = collectTexts(node.where_clause, place) ?? null;
    }
    node.group_expressions = (node.group_expressions ?? []).map(rewrite);
    if (node.having) node.having = rewrite(node.having);
    if (node.qualify) node.qualify = rewrite(node.qualify);
    this.#modifiers(node, scope);
  }

  #predicates({ entries, equals }: Scope): PredicateScope {
    const require: PredicateScope['require'] = (origin, apply) => void this.#required.push({ origin, apply });
    return { expressions: this.expressions, entries, equals, require };
  }

  #modifiers(node: Ast, scope: Scope): void {
    for (const modifier of node.modifiers ?? []) mapChildren(modifier, (part) => this.expressions.rewrite(part, scope));
    node.modifiers = (node.modifiers ?? []).filter((modifier) => this.#isEffective(modifier));
  }

  /** Drops constants from ORDER BY, which do not order anything. @returns whether something is left of a clause. */
  #isEffective(modifier: AstModifier): boolean {
    if (modifier.orders === undefined) return true;
    modifier.orders = modifier.orders.filter(({ expression }) => {
      const kind = this.expressions.literalOf(expression)?.kind;
      return kind === undefined || kind === 'integer';
    });
    return modifier.orders.length > 0;
  }

  #from(node: Ast, scope: Scope): FromEntry[] {
    switch (node.type) {
      case 'BASE_TABLE':
        return [this.#baseTable(node, scope)];
      case 'SUBQUERY': {
        const outputs = node.subquery === undefined ? undefined : this.query(node.subquery.node, scope);
        return [derived(node, renamedOutputs(outputs, node.column_name_alias ?? []))];
      }
      case 'JOIN':
        return this.#join(node, scope);
      case 'PIVOT': {
        for (const entry of node.source === undefined ? [] : this.#from(node.source, scope)) {
          if (entry.plan !== undefined) entry.plan.readsAll = true;
        }
        return [derived(node, undefined)];
      }
      case 'EMPTY':
        return [];
      default:
        this.#rowSource(node, scope);
        return [derived(node, this.#valuesOutputs(node))];
    }
  }

  /** Resolves table functions and VALUES lists. */
  #rowSource(node: Ast, scope: Scope): void {
    const rewrite = (part: Ast): Ast => {
      const result = this.expressions.rewrite(part, scope);
      return node.type === 'EXPRESSION_LIST' && this.expressions.literalOf(result)?.kind === 'integer'
        ? cast(result, 'BIGINT')
        : result;
    };
    if (node.function !== undefined) mapChildren(node.function, rewrite);
    else mapChildren(node, rewrite);
  }

  /** Returns the columns of a VALUES list, as the engine names them; a type is known if all rows have it. */
  #valuesOutputs({ type, values }: Ast): Outputs {
    if (type !== 'EXPRESSION_LIST' || values === undefined) return undefined;
    const [first, ...rest] = values;
    return first.map((value, i) => {
      const known = this.expressions.knownType(value);
      const isSame = rest.every((row) => this.expressions.knownType(row[i]) === known);
      return { name: `col${i}`, known: isSame ? known : undefined };
    });
  }

  #join(node: Ast, scope: Scope): FromEntry[] {
    const { left, right } = node;
    invariant(left !== undefined && right !== undefined, 'join without sides');
    const leftEntries = this.#from(left, scope);
    // The right side may be lateral: it sees the left one.
    const rightEntries = this.#from(right, { ...scope, entries: [...scope.entries, ...leftEntries] });
    const entries = [...leftEntries, ...rightEntries];
    this.#condition(node, { ...scope, entries });
    this.#mergeColumns(node, scope, { left: leftEntries, right: rightEntries });
    const isMerged = node.ref_type === 'NATURAL' || (node.using_columns ?? []).length > 0;
    for (const entry of entries) {
      if (node.ref_type === 'NATURAL' && entry.plan !== undefined) entry.plan.readsAll = true;
      if (isMerged && node.join_type !== 'INNER') entry.ownsBareNames = false;
      // The pairs of these joins depend on all rows, not only on those that satisfy the condition.
      if (node.ref_type === 'POSITIONAL') entry.prunable = false;
    }
    if (node.ref_type === 'ASOF') for (const entry of rightEntries) entry.prunable = false;
    return HIDES_RIGHT.has(node.join_type ?? '') ? leftEntries : entries;
  }

  /** Notes the columns that USING and NATURAL merge. */
  #mergeColumns(join: Ast, scope: Scope, sides: { readonly left: FromEntry[]; readonly right: FromEntry[] }): void {
    for (const name of join.using_columns ?? []) this.expressions.mentioned.add(name.toLowerCase());
    const isEqual = join.join_type === 'INNER' && join.ref_type !== 'ASOF';
    for (const pair of mergedColumns(join, sides.left, sides.right)) {
      const [first, second] = pair;
      if (second.output !== undefined) scope.merged.add(second.output);
      if (isEqual && first.known === second.known) scope.equals.push(pair);
    }
  }

  #condition(join: Ast, scope: Scope): void {
    if (!join.condition) return;
    join.condition = this.expressions.rewrite(join.condition, scope);
    // An outer join has rows for which its condition does not hold.
    if (join.ref_type === 'REGULAR' && join.join_type === 'INNER') {
      collectEquals(join.condition, this.#predicates(scope));
    }
  }

  #baseTable(node: Ast, scope: Scope): FromEntry {
    const { table_name: name = '', schema_name: schema = '', catalog_name: catalog = '', alias = '' } = node;
    const aliases = node.column_name_alias ?? [];
    const cte = schema === '' && catalog === '' ? findCte(scope, name.toLowerCase()) : undefined;
    if (cte !== undefined) {
      Object.assign(node, { alias: alias === '' ? name : alias, table_name: cte.marker });
      cte.uses.count++;
      const { uses } = cte;
      const outputs = cte.outputs?.map((output) => ({
        ...output,
        origins: output.origins?.map((origin) => ({ ...origin, ctes: [...origin.ctes, uses] })) ?? [],
      }));
      return derived(node, renamedOutputs(outputs, aliases));
    }
    const source = this.#lookup(catalog, schema, name);
    this.#note(alias || name, source);
    if (isViewBody(source)) return this.#view(node, source, alias || name);
    return this.#table(node, this.#planTable(source));
  }

  #table(node: Ast, plan: PlanTable): FromEntry {
    const { table_name: name = '', alias = '' } = node;
    const aliases = node.column_name_alias ?? [];
    // Renamed by position: the relation must have all columns in their order.
    if (aliases.length > 0) plan.readsAll = true;
    const outputs = plan.table.columns.map((column): ProvidedColumn => ({
      name: column.name,
      known: knownTypeOf(column.type),
      column,
      isTime: column.kind === 'time',
      origins: [{ plan, column, ctes: [] }],
    }));
    const entry = entryOf(alias === '' ? name : alias, renamedOutputs(outputs, aliases));
    Object.assign(node, {
      alias: alias === '' ? name : alias,
      catalog_name: '',
      schema_name: '',
      table_name: plan.marker,
    });
    const prunable = !isSampled(node);
    const path = alias === '' ? { path: [plan.table.database, plan.table.name] as const } : {};
    return { ...entry, plan, prunable, ...path };
  }

  /** Notes what the query itself names. */
  #note(name: string, source: Table | ViewBody): void {
    if (this.#viewDepth > 0) return;
    const { columns } = isViewBody(source) ? source.view : source;
    this.sources.push({ name, columns: columns.map((column) => column.name) });
  }

  /** Replaces the name of a view by its query, in which only its own names are visible. */
  #view(node: Ast, { view, query: stored, lookup }: ViewBody, alias: string): FromEntry {
    this.#viewChars += view.query.length;
    if (++this.#viewCopies > VIEW_COPIES_MAX || this.#viewChars > VIEW_CHARS_MAX) {
      const limits = `${VIEW_COPIES_MAX} views, or views with more than ${VIEW_CHARS_MAX} characters together`;
      throw new AlmanacError('plan_query', `Failed to plan SQL: the query reads more than ${limits}`);
    }
    const outer = this.#lookup;
    const query = copy(stored);
    this.#lookup = lookup;
    this.#viewDepth++;
    const outputs = this.query(query, undefined);
    this.#viewDepth--;
    this.#lookup = outer;
    const isNamed = (node.alias ?? '') !== '';
    const given = node.column_name_alias ?? [];
    const names = [...given, ...view.columns.slice(given.length).map(({ name }) => name)];
    delete node.catalog_name;
    delete node.schema_name;
    delete node.table_name;
    delete node.at_clause;
    Object.assign(node, { type: 'SUBQUERY', alias, column_name_alias: names });
    node.subquery = { node: query, named_param_map: [] };
    const entry = derived(node, renamedOutputs(outputs, names));
    return isNamed ? entry : { ...entry, path: [view.database, view.name] };
  }

  #planTable(table: Table): PlanTable {
    const marker = `${this.#options.markerPrefix}${this.#tables.length}`;
    const plan: PlanTable = {
      marker,
      table,
      columns: new Set(),
      readsAll: false,
      bounds: [],
      tagValues: new Map(),
      texts: [],
    };
    this.#tables.push(plan);
    return plan;
  }
}

function hasAggregate(tree: unknown): boolean {
  if (tree === null || typeof tree !== 'object') return false;
  if (AGGREGATE_FUNCTIONS.has((tree as Partial<Ast>).function_name ?? '')) return true;
  return Object.values(tree).some(hasAggregate);
}
