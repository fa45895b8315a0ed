import type { Column } from '#shared/contracts/gen/common';

import type { KnownType } from '../functions/function.js';
import type { PlanTable } from './plan-table.js';

/** A column that a FROM entry provides. */
export interface ProvidedColumn {
  readonly name: string;
  readonly known: KnownType | undefined;
  /** The table's column, if it is passed on unchanged. */
  readonly column?: Column;
  /** Whether it is the time index of a table, also of one that a subquery reads. */
  readonly isTime?: boolean | undefined;
  /**
   * Columns of tables, also in subqueries, that provide its values: a condition on this column may restrict which of their
   * rows are read. A union has several.
   */
  readonly origins?: readonly ColumnOrigin[];
}

/** A time index or tag of an occurrence of a table. */
export interface ColumnOrigin {
  readonly plan: PlanTable;
  readonly column: Column;
  /** Common table expressions in between. Read more than once, they must have the rows that each reader needs. */
  readonly ctes: readonly CteUses[];
}

/** Counts the references to a common table expression; final when the whole query was visited. */
export interface CteUses {
  count: number;
}

/** One member of a FROM clause. */
export interface FromEntry {
  /** Qualifier of its columns, in lower case. */
  readonly alias: string;
  /** `database.table` of a table without an alias. */
  readonly path?: readonly [string, string];
  readonly plan?: PlanTable;
  /** By lower-case name; undefined if they are not known. */
  readonly columns: ReadonlyMap<string, ProvidedColumn> | undefined;
  /** Whether conditions of WHERE on its columns may restrict which rows are read. */
  prunable: boolean;
  /** Whether an unqualified name means its column even where a join merges columns of that name. */
  ownsBareNames: boolean;
}

/** Columns of a subquery; undefined if they are not known. */
export type Outputs = readonly ProvidedColumn[] | undefined;

/** A common table expression. */
export interface Cte {
  /** Its name in the engine's statement. */
  readonly marker: string;
  readonly outputs: Outputs;
  readonly uses: CteUses;
}

/** Names that are visible at one point of a query. */
export interface Scope {
  readonly parent: Scope | undefined;
  readonly ctes: Map<string, Cte>;
  readonly entries: FromEntry[];
  /** Type of each alias of the select list. */
  readonly aliases: Map<string, KnownType | undefined>;
  /** Pairs of columns that are equal wherever neither is null, and null only together with the rest of their tables. */
  readonly equals: (readonly [FoundColumn, FoundColumn])[];
  /** Columns that a join has merged into those of its left side: a star does not repeat them. */
  readonly merged: Set<ProvidedColumn>;
}

/** Returns an empty scope inside another one. */
export function childScope(parent: Scope | undefined): Scope {
  return { parent, ctes: new Map(), entries: [], aliases: new Map(), equals: [], merged: new Set() };
}

/** Finds a common table expression by name, from the inside out. */
export function findCte(scope: Scope | undefined, name: string): Cte | undefined {
  for (let at = scope; at !== undefined; at = at.parent) {
    const cte = at.ctes.get(name);
    if (cte !== undefined) return cte;
  }
  return undefined;
}

/** A column found by name, and the FROM entry that it belongs to. */
export interface FoundColumn {
  readonly entry: FromEntry | undefined;
  readonly output: ProvidedColumn | undefined;
  readonly known: KnownType | undefined;
}

/** Finds the column of a reference; `parts` is a name, or a qualifier and a name. Undefined if that is ambiguous or unknown. */
export function findColumn(scope: Scope, parts: readonly string[]): FoundColumn | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const found = parts.length >= 2 ? findQualified(at, parts) : findBare(at, parts[0].toLowerCase());
    if (found !== undefined) return found.output === undefined && found.known === undefined ? undefined : found;
  }
  return undefined;
}

function findQualified(scope: Scope, [qualifier, name]: readonly string[]): FoundColumn | undefined {
  const entry = scope.entries.find((candidate) => candidate.alias === qualifier.toLowerCase());
  if (entry === undefined) return undefined;
  const output = entry.columns?.get(name.toLowerCase());
  return { entry, output, known: output?.known };
}

function findBare(scope: Scope, name: string): FoundColumn | undefined {
  let unknown = false;
  for (const entry of scope.entries) {
    const output = entry.columns?.get(name);
    if (output !== undefined) return { entry, output, known: output.known };
    if (entry.columns === undefined) unknown = true;
  }
  if (unknown) return { entry: undefined, output: undefined, known: undefined };
  if (scope.aliases.has(name)) return { entry: undefined, output: undefined, known: scope.aliases.get(name) };
  return undefined;
}
