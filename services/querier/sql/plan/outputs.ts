import { mapChildren, type Ast } from '../syntax/ast.js';
import type { Expressions } from './expressions.js';
import type { ColumnOrigin, FoundColumn, FromEntry, Outputs, ProvidedColumn, Scope } from './scope.js';

/**
 * Reports whether a condition on an output column of a SELECT that is a column of its input selects the same rows if the
 * input has only the rows that it accepts. The columns of a grouped SELECT are its groups, so grouping is no obstacle; limits,
 * windows and samples are.
 */
export function passesConditions(node: Ast): boolean {
  return !node.qualify && !isSampled(node) && passesModifiers(node) && !(node.select_list ?? []).some(hasWindow);
}

/** Reports whether a sample is drawn from the rows of a query or of a member of FROM. */
export function isSampled(node: Ast): boolean {
  return ((node as { sample?: unknown }).sample ?? null) !== null;
}

function passesModifiers({ modifiers = [] }: Ast): boolean {
  return modifiers.every(
    ({ type, distinct_on_targets: targets = [] }) =>
      type === 'ORDER_MODIFIER' || (type === 'DISTINCT_MODIFIER' && targets.length === 0),
  );
}

function hasWindow(node: Ast): boolean {
  if (node.class === 'WINDOW') return true;
  let found = false;
  mapChildren(node, (child) => {
    found ||= hasWindow(child);
    return child;
  });
  return found;
}

/** Returns the origins of a column that conditions of a WHERE clause of `scope` may use. */
export function originsOf(
  found: FoundColumn | undefined,
  { entries }: Pick<Scope, 'entries'>,
): readonly ColumnOrigin[] {
  const { entry, output } = found ?? {};
  if (entry === undefined || !entries.includes(entry) || !entry.prunable || !entry.ownsBareNames) return [];
  return output?.origins ?? [];
}

/**
 * Returns the columns of a set operation, whose parts have the columns `parts`. A condition on one applies to each part by
 * itself, if it has the same type in all of them.
 */
export function unitedOutputs(node: Ast, parts: readonly Outputs[]): Outputs {
  const isPassed = passesModifiers(node) && node.setop_type !== 'UNION_BY_NAME';
  return parts[0]?.map(({ name, known }, i): ProvidedColumn => {
    const columns = parts.map((part) => part?.[i]);
    const isTime = columns.every((column) => column?.isTime === true);
    if (!isPassed || columns.some((column) => column?.known !== known)) return { name, known, isTime };
    return { name, known, isTime, origins: columns.flatMap((column) => column?.origins ?? []) };
  });
}

/** Returns the columns that a star of a select list stands for; undefined if they are not known. */
export function starOutputs(star: Ast, scope: Scope, expressions: Expressions): Outputs {
  const others = [...(star.qualified_exclude_list ?? []), ...(star.rename_list ?? [])];
  if (star.columns === true || star.expr || others.length > 0) return undefined;
  const qualifier = (star.relation_name ?? '').toLowerCase();
  const entries = scope.entries.filter(({ alias }) => qualifier === '' || alias === qualifier);
  if (entries.some(({ columns }) => columns === undefined)) return undefined;
  const excluded = new Set(star.exclude_list?.map((name) => name.toLowerCase()));
  const replaced = new Map(star.replace_list?.map(({ key, value }) => [key.toLowerCase(), value]));
  return entries
    .flatMap((entry) => columnsOf(entry, scope, qualifier !== ''))
    .filter(({ name }) => !excluded.has(name.toLowerCase()))
    .map((output) => {
      const value = replaced.get(output.name.toLowerCase());
      return value === undefined ? output : { name: output.name, known: expressions.knownType(value) };
    });
}

/** Returns the columns of a member of FROM, as a SELECT passes them on. @param isQualified whether merged ones are repeated. */
function columnsOf(entry: FromEntry, scope: Scope, isQualified: boolean): ProvidedColumn[] {
  return [...(entry.columns?.values() ?? [])]
    .filter((output) => isQualified || !scope.merged.has(output))
    .map((output) => ({ ...output, origins: originsOf({ entry, output, known: output.known }, scope) }));
}

/** Returns the member of FROM that a subquery, a view or a common table expression is. */
export function derived(node: Ast, outputs: Outputs): FromEntry {
  // Its columns are not those of a table itself, but conditions on them may restrict rows of tables in it.
  const entry = entryOf(
    node.alias ?? '',
    outputs?.map(({ name, known, isTime, origins = [] }) => ({ name, known, isTime, origins })),
  );
  return { ...entry, prunable: !isSampled(node) };
}

/** Returns the pairs of columns that USING or NATURAL merges, where each side has one of them. */
export function mergedColumns(join: Ast, left: FromEntry[], right: FromEntry[]): [FoundColumn, FoundColumn][] {
  const names = join.ref_type === 'NATURAL' ? left.flatMap(({ columns }) => [...(columns?.keys() ?? [])]) : [];
  return [...new Set([...names, ...(join.using_columns ?? [])])].flatMap((name): [FoundColumn, FoundColumn][] => {
    const [first, second] = [left, right].map((entries) => namedColumns(name, entries));
    return first.length === 1 && second.length === 1 ? [[first[0], second[0]]] : [];
  });
}

function namedColumns(name: string, entries: readonly FromEntry[]): FoundColumn[] {
  return entries.flatMap((entry) => {
    const output = entry.columns?.get(name.toLowerCase());
    return output === undefined ? [] : [{ entry, output, known: output.known }];
  });
}

/** Returns a member of FROM. */
export function entryOf(alias: string, outputs: Outputs): FromEntry {
  const columns = outputs === undefined ? undefined : byName(outputs);
  return { alias: alias.toLowerCase(), columns, prunable: true, ownsBareNames: true };
}

/** Returns columns with the names of a list of aliases, which may be shorter. */
export function renamedOutputs(outputs: Outputs, names: readonly string[]): Outputs {
  return outputs?.map((output, i) => (i < names.length ? { ...output, name: names[i] } : output));
}

/** Returns columns by lower-case name, in order. The engine numbers those whose name another one before has. */
function byName(outputs: readonly ProvidedColumn[]): ReadonlyMap<string, ProvidedColumn> {
  const columns = new Map<string, ProvidedColumn>();
  for (const output of outputs) {
    let { name } = output;
    for (let i = 1; columns.has(name.toLowerCase()); i++) name = `${output.name}_${i}`;
    columns.set(name.toLowerCase(), name === output.name ? output : { name, known: output.known });
  }
  return columns;
}
