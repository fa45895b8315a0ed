import type { Table } from '#shared/contracts/gen/common';
import { dataType, UNIT_NS } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';

import { ANY_AGGREGATES } from '../functions/native.js';
import { constantInterval } from '../functions/interval.js';
import { textConstant, type Ast } from '../syntax/ast.js';
import { parseTimestampText } from '../syntax/timestamp-text.js';

/** Consecutive windows of a time index: of a fixed length from an origin, in nanoseconds, or of whole months. */
export type FlowWindow =
  | { readonly kind: 'fixed'; readonly stepNs: bigint; readonly originNs: bigint }
  | { readonly kind: 'months'; readonly months: 1 | 3 | 12 };

/** What the shape of a query says about how a flow can compute it. */
export interface QueryShape {
  /** Whether each source row yields at most one row by itself. */
  readonly isProjection: boolean;
  /** The windows by which the query groups its only table; undefined: none. */
  readonly window: FlowWindow | undefined;
  /** Index of the result column that is the start of the window; undefined: none is. */
  readonly windowItem: number | undefined;
  /** Indexes of the other result columns by which rows are grouped, or all of a DISTINCT query. */
  readonly keyItems: readonly number[];
  /** Whether the outermost query groups its rows. */
  readonly isGrouped: boolean;
}

const DAY_NS = 86_400_000_000_000n;
const TRUNCATIONS: Readonly<Partial<Record<string, FlowWindow>>> = {
  second: fixed(1_000_000_000n),
  minute: fixed(60_000_000_000n),
  hour: fixed(3_600_000_000_000n),
  day: fixed(DAY_NS),
  // Weeks begin on Monday; 1970-01-01 was a Thursday.
  week: fixed(7n * DAY_NS, -3n * DAY_NS),
  month: { kind: 'months', months: 1 },
  quarter: { kind: 'months', months: 3 },
  year: { kind: 'months', months: 12 },
};
/** Rows that are grouped by their exact time are processed a minute at a time. */
const POINTS = fixed(60_000_000_000n);

/** Determines the shape of a query. @param source the table, if the query reads a single one. */
export function shapeOf(ast: Ast, source: Table | undefined): QueryShape {
  const items = ast.select_list ?? [];
  const groups = (ast.group_expressions ?? []).map((group) => itemOf(group, items, source));
  const modifiers = (ast.modifiers ?? []).map(({ type }) => type);
  const isDistinct = modifiers.includes('DISTINCT_MODIFIER');
  const keyItems =
    isDistinct && groups.length === 0
      ? items.map((_, i) => i)
      : groups.flatMap(({ item }) => (item === undefined ? [] : [item]));
  const isGrouped = ast.type === 'SELECT_NODE' && (groups.length > 0 || isDistinct || items.some(hasAggregate));
  const shape = { isProjection: false, window: undefined, windowItem: undefined, keyItems, isGrouped };
  if (source === undefined || !isOfOneTable(ast)) return shape;
  if (!isGrouped) return { ...shape, isProjection: modifiers.length === 0 };
  return modifiers.every((type) => KEEPS_GROUPS.has(type)) ? windowed(shape, groups, source) : shape;
}

/** Modifiers that drop no group. */
const KEEPS_GROUPS = new Set(['DISTINCT_MODIFIER', 'ORDER_MODIFIER']);

/** Adds the first window of GROUP BY to a shape. */
function windowed(shape: QueryShape, groups: readonly GroupItem[], source: Table): QueryShape {
  for (const { expression, item } of groups) {
    const window = expression === undefined ? undefined : windowOf(expression, source);
    // Without the window among the columns, results of different windows have the same key.
    if (window === undefined || item === undefined) continue;
    return { ...shape, window, windowItem: item, keyItems: shape.keyItems.filter((key) => key !== item) };
  }
  return shape;
}

function fixed(stepNs: bigint, originNs = 0n): FlowWindow {
  return { kind: 'fixed', stepNs, originNs };
}

/** Whether a query selects from one table and each of its groups depends on no rows but its own. */
function isOfOneTable(ast: Ast): boolean {
  if (ast.type !== 'SELECT_NODE' || ast.from_table?.type !== 'BASE_TABLE') return false;
  if ((ast.cte_map?.map ?? []).length > 0 || (ast.qualify ?? null) !== null) return false;
  const sets = (ast as { group_sets?: readonly unknown[] }).group_sets ?? [];
  if (sets.length > 1) return false;
  return ![...(ast.select_list ?? []), ast.where_clause, ast.having].some((node) => some(node, isOverOtherRows));
}

function isOverOtherRows({ class: kind }: Ast): boolean {
  return kind === 'WINDOW' || kind === 'SUBQUERY';
}

function hasAggregate(item: Ast): boolean {
  return some(item, ({ class: kind, function_name: name = '' }) => {
    return kind === 'FUNCTION' && ANY_AGGREGATES.has(name);
  });
}

/** Whether a node of a tree satisfies a condition. */
function some(tree: unknown, condition: (node: Ast) => boolean): boolean {
  if (tree === null || typeof tree !== 'object') return false;
  if (Array.isArray(tree)) return tree.some((entry) => some(entry, condition));
  const node = tree as Ast & Record<string, unknown>;
  if (typeof node.class === 'string' && condition(node)) return true;
  return Object.values(node).some((value) => some(value, condition));
}

interface GroupItem {
  /** Undefined if it is ambiguous. */
  readonly expression: Ast | undefined;
  /** Index in the select list. */
  readonly item: number | undefined;
}

/** Resolves an item of GROUP BY: a position, an alias or an expression. */
function itemOf(group: Ast, items: readonly Ast[], source: Table | undefined): GroupItem {
  const position = group.class === 'CONSTANT' ? Number(group.value?.value) : NaN;
  if (Number.isInteger(position) && position >= 1 && position <= items.length) {
    return { expression: items[position - 1], item: position - 1 };
  }
  const name = bareName(group);
  const aliased = name === undefined ? -1 : items.findIndex((item) => item.alias === name);
  if (aliased !== -1) {
    const isColumn = source?.columns.some((column) => column.name === name) ?? false;
    // Whether the name means the column or the item, only the engine knows.
    const isAmbiguous = isColumn && bareName(items[aliased]) !== name;
    return { expression: isAmbiguous ? undefined : items[aliased], item: aliased };
  }
  const text = textOf(group);
  const found = items.findIndex((item) => textOf(item) === text);
  return { expression: group, item: found === -1 ? undefined : found };
}

/** Returns the name of a column that a query names without its table. */
function bareName({ class: kind, column_names: names = [] }: Ast): string | undefined {
  return kind === 'COLUMN_REF' && names.length === 1 ? names[0] : undefined;
}

/** Returns a text that is equal for equal expressions, whatever their names and positions. */
function textOf(node: Ast): string {
  return JSON.stringify(node, (key, value: unknown) => {
    if (key === 'alias' || key === 'query_location') return undefined;
    return key === 'column_names' && Array.isArray(value) ? (value.at(-1) as unknown) : value;
  });
}

/** Returns the windows that an expression computes; undefined if it is none that the time index alone determines. */
function windowOf(node: Ast, source: Table): FlowWindow | undefined {
  const unit = dataType(timeIndexOf(source).type).timeUnit ?? 'ms';
  const window = anyWindow(node, source);
  if (window?.kind !== 'fixed') return window;
  return window.stepNs % UNIT_NS[unit] === 0n && window.originNs % UNIT_NS[unit] === 0n ? window : undefined;
}

function anyWindow(node: Ast, source: Table): FlowWindow | undefined {
  if (isTimeIndex(node, source, false)) return POINTS;
  const [first, time, origin] = node.children ?? [];
  if (node.class !== 'FUNCTION' || time === undefined || !isTimeIndex(time, source, true)) return undefined;
  switch (node.function_name) {
    case 'date_bin':
    case 'time_bucket':
      return binWindow(first, origin);
    case 'date_trunc':
    case 'datetrunc':
      return TRUNCATIONS[textConstant(first)?.toLowerCase().replace(/s$/, '') ?? ''];
    default:
      return undefined;
  }
}

function binWindow(width: Ast, origin: Ast | undefined): FlowWindow | undefined {
  const interval = constantInterval(width);
  if (interval?.months !== 0 || interval.ns <= 0n) return undefined;
  if (origin === undefined) return fixed(interval.ns);
  const text = textConstant(origin.class === 'CAST' && origin.child !== undefined ? origin.child : origin);
  const originNs = text === undefined ? undefined : parseTimestampText(text);
  return originNs === undefined ? undefined : fixed(interval.ns, originNs % interval.ns);
}

/** Whether an expression is the time index. @param mayCast also a cast that keeps its values. */
function isTimeIndex(node: Ast, source: Table, mayCast: boolean): boolean {
  if (node.class === 'COLUMN_REF') return node.column_names?.at(-1) === timeIndexOf(source).name;
  if (!mayCast || node.class !== 'CAST' || node.child === undefined) return false;
  const isKept = node.cast_type?.id === 'TIMESTAMP_NS' || isMicros(node, source);
  return isKept && isTimeIndex(node.child, source, true);
}

function isMicros({ cast_type: type }: Ast, source: Table): boolean {
  return type?.id === 'TIMESTAMP' && dataType(timeIndexOf(source).type).timeUnit !== 'ns';
}
