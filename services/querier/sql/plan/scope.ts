import type { Column } from '#shared/contracts/gen/common';

import type { KnownType } from './known-types.js';
import type { PlanTable } from './plan-table.js';

/** A column that a part of a query offers. */
export interface OutputColumn {
  readonly name: string;
  readonly known: KnownType | undefined;
  /** The table's column that it is, unchanged. */
  readonly column?: Column;
}

/** One member of a FROM clause. */
export interface FromEntry {
  /** Name by which its columns are qualified, lower case. */
  readonly alias: string;
  /** `database.table` of a table that was given no alias of its own. */
  readonly path?: readonly [string, string];
  readonly plan?: PlanTable;
  /** By lower-case name; undefined where they are not known. */
  readonly columns: ReadonlyMap<string, OutputColumn> | undefined;
  /** Whether conditions of WHERE on its columns may keep rows from being read at all. */
  prunable: boolean;
  /** Whether an unqualified name means its column even where a join merges columns of that name. */
  ownsBareNames: boolean;
}

export type Outputs = readonly OutputColumn[] | undefined;

/** A common table expression. */
export interface Cte {
  /** Its name in the engine's statement. */
  readonly marker: string;
  readonly outputs: Outputs;
}

/** Names that are visible at one place of a query. */
export interface Scope {
  readonly parent: Scope | undefined;
  readonly ctes: Map<string, Cte>;
  readonly entries: FromEntry[];
  /** Type of each alias of the select list. */
  readonly aliases: Map<string, KnownType | undefined>;
}

export function childScope(parent: Scope | undefined): Scope {
  return { parent, ctes: new Map(), entries: [], aliases: new Map() };
}

export function findCte(scope: Scope | undefined, name: string): Cte | undefined {
  for (let at = scope; at !== undefined; at = at.parent) {
    const cte = at.ctes.get(name);
    if (cte !== undefined) return cte;
  }
  return undefined;
}

export interface FoundColumn {
  readonly entry: FromEntry | undefined;
  readonly output: OutputColumn | undefined;
  readonly known: KnownType | undefined;
}

/** What a column reference means; `parts` is one name or a qualifier and a name. Undefined if that cannot be told. */
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
