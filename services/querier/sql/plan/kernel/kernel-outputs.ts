import type { Column } from '#shared/contracts/gen/common';
import type { ValueKind } from '#shared/duckdb/chunk-reader';
import type { OutputColumn } from '#shared/formats/format';
import type { TimeUnit } from '#shared/schema/data-type';

import { isNumeric } from '../../../kernels/preconditions.js';
import { NotForKernels, type Aggregate, type AggregateName } from '../../../kernels/query.js';
import type { Ast } from '../../syntax/ast.js';

/** Returns the columns of a result, for the texts of the items that name them. */
export type ResultColumns = (itemNames: readonly string[]) => readonly OutputColumn[];

/** A select item, and the native type of its values; undefined: only the engine knows it. */
export interface ResultItem {
  readonly item: Ast;
  readonly type: string | undefined;
}

/**
 * Returns the columns of a result as the engine would describe them; undefined if only the engine knows them.
 *
 * @param nameMarker with the position of an item after it, it is the alias of an item without a name of its own
 */
export function resultColumns(items: readonly ResultItem[], nameMarker: string): ResultColumns | undefined {
  const columns: { readonly name: string | number; readonly type: OutputColumn['type'] }[] = [];
  for (const { item, type = '' } of items) {
    const kind = kindOf(type);
    const name = nameOf(item, nameMarker);
    if (kind === undefined || name === undefined) return undefined;
    columns.push({ name, type: { name: type, kind } });
  }
  // Successive queries are often of one template, which has the same names.
  let known: readonly OutputColumn[] = [];
  let knownNames: readonly string[] | undefined;
  return (itemNames) => {
    if (itemNames === knownNames) return known;
    knownNames = itemNames;
    const named: OutputColumn[] = [];
    for (const { name, type } of columns) {
      named.push({ name: typeof name === 'string' ? name : (itemNames[name] ?? `column${name}`), type });
    }
    return (known = named);
  };
}

const AGGREGATES: Readonly<Partial<Record<string, AggregateName>>> = {
  count: 'count',
  min: 'min',
  max: 'max',
  sum: 'sum',
  avg: 'avg',
  mean: 'avg',
};

/** Returns the aggregate that a function of a column is. @param name of the function */
export function aggregateOfColumn(name: string, column: Column): Aggregate | undefined {
  const known = Object.hasOwn(AGGREGATES, name) ? AGGREGATES[name] : undefined;
  if (known === undefined) return undefined;
  if (column.kind === 'time') return ofTimes(known, column);
  return column.kind === 'field' && isNumeric(column.type) ? { name: known, field: column } : undefined;
}

/** Returns an aggregate of times. */
function ofTimes(name: AggregateName, field: Column): Aggregate | undefined {
  // A row always has a time.
  if (name === 'count') return { name, field: undefined };
  return name === 'min' || name === 'max' ? { name, field } : undefined;
}

/** Returns the native type of an aggregate, as the engine computes it. */
export function aggregateType({ name, field, range }: Aggregate): string {
  if (range?.fill === 'linear') return 'Float64';
  if (name === 'count' || field === undefined) return 'Int64';
  if (name === 'avg') return 'Float64';
  if (name !== 'sum') return field.type;
  return field.type.startsWith('Float') ? 'Float64' : 'Int64';
}

const TIMES: Readonly<Record<TimeUnit, string>> = {
  s: 'TimestampSecond',
  ms: 'TimestampMillisecond',
  us: 'TimestampMicrosecond',
  ns: 'TimestampNanosecond',
};

/** Returns the native type of times. */
export function timesType(unit: TimeUnit | undefined): string | undefined {
  return unit === undefined ? undefined : TIMES[unit];
}

/** Reports whether a select item is `*` without exceptions. */
export function isPlainStar(item: Ast): boolean {
  const { exclude_list: excluded = [], replace_list: replaced = [] } = item;
  if (item.class !== 'STAR' || item.columns === true || item.expr) return false;
  return [...excluded, ...replaced, ...(item.qualified_exclude_list ?? []), ...(item.rename_list ?? [])].length === 0;
}

/** Returns a column of the table as an item. */
export function columnItem({ name, type }: Column): ResultItem {
  return { item: { class: 'COLUMN_REF', type: 'COLUMN_REF', column_names: [name] }, type };
}

/** Checks that a column can be one of a result without groups. @throws `NotForKernels` */
export function checkOutput({ name, kind, type }: Column): void {
  const isKnown = kind === 'tag' ? type === 'String' : kind === 'time' || type === 'Boolean' || isNumeric(type);
  if (!isKnown) throw new NotForKernels(`"${name}" has the type ${type}`);
}

function kindOf(type: string): ValueKind | undefined {
  if (/^U?Int(?:8|16|32|64)$|^Timestamp(?:Second|Millisecond|Microsecond|Nanosecond)$/.test(type)) return 'int';
  return KINDS[type];
}

const KINDS: Readonly<Partial<Record<string, ValueKind>>> = {
  Float32: 'float32',
  Float64: 'float64',
  String: 'text',
  Boolean: 'bool',
};

/** Returns the alias of an item, or its position if its text names it. */
function nameOf(
  { alias = '', class: kind, column_names: names = [] }: Ast,
  nameMarker: string,
): string | number | undefined {
  if (alias.startsWith(nameMarker)) return Number(alias.slice(nameMarker.length));
  if (alias !== '') return alias;
  return kind === 'COLUMN_REF' ? names.at(-1) : undefined;
}

/** Returns the refusal of a query because of an item that kernels do not compute. */
export function unsupportedItem({ class: kind = '', function_name: name, column_names: names }: Ast): NotForKernels {
  const item =
    kind === 'FUNCTION' ? `${name ?? ''}(..)` : kind === 'COLUMN_REF' ? (names?.at(-1) ?? '') : 'an expression';
  return new NotForKernels(`${item} is neither a group nor a supported aggregate`);
}
