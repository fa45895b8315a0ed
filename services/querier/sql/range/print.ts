import { quoteName } from '#shared/duckdb/quote';
import { dataType } from '#shared/schema/data-type';

import { GAP_SLOTS_MAX } from '../../kernels/slots.js';
import type { RangeInput } from './input.js';

/** How an empty result is replaced. */
export type Fill = { readonly kind: 'null' | 'prev' | 'linear' } | { readonly kind: 'constant'; readonly sql: string };

/** A range expression, ready to be printed. */
export interface RangeColumn {
  /** Name of the column that holds its result. */
  readonly name: string;
  /** The aggregate call. */
  readonly sql: string;
  readonly rangeMs: number;
  /** Value of the aggregate over no rows. */
  readonly emptySql: 'NULL' | '0';
  readonly fill: Fill | undefined;
}

/** What a range query computes for each series and slot. */
export interface RangePlan {
  readonly input: RangeInput;
  readonly whereSql: string | undefined;
  readonly alignMs: number;
  readonly originMs: number;
  /** BY expressions and the names that the outer query has for them. */
  readonly keys: readonly { readonly sql: string; readonly name: string }[];
  readonly columns: readonly RangeColumn[];
}

const PRECISIONS = { s: 0, ms: 3, us: 6, ns: 9 } as const;

/** Prints the relation of a range query: its time index, its keys, and one column for each range expression. */
export function printRange(plan: RangePlan): string {
  const { input, keys, columns } = plan;
  const filled = columns.some(({ fill }) => fill !== undefined) ? fillSql(plan) : slotSql(plan);
  const unit = dataType(input.timeIndex.type ?? 'TimestampMillisecond').timeUnit ?? 'ms';
  const items = [
    `CAST(make_timestamp_ms(__slot) AS TIMESTAMP(${PRECISIONS[unit]})) AS ${quoteName(input.timeIndex.name)}`,
    ...keys.map(({ name }, i) => `__by${i} AS ${quoteName(name)}`),
    ...columns.map(({ name }) => quoteName(name)),
  ];
  return `SELECT ${items.join(', ')} FROM (${filled}) AS __range`;
}

/** Aggregates the rows of each series and slot. */
function slotSql({ input, whereSql, alignMs, originMs, keys, columns }: RangePlan): string {
  const widestMs = Math.max(...columns.map(({ rangeMs }) => rangeMs));
  const steps = Math.ceil(widestMs / alignMs);
  const time = timeMsSql(input);
  const sinceLast = `((${time} - ${(originMs % alignMs).toString()}) % ${alignMs} + ${alignMs}) % ${alignMs}`;
  // A row belongs to the last slot before it and to earlier ones that are wide enough.
  const sinceSlot = steps === 1 ? `(${sinceLast})` : `(${sinceLast} + __step * ${alignMs})`;
  const items = [
    `${time} - ${sinceSlot} AS __slot`,
    ...keys.map(({ sql }, i) => `${sql} AS __by${i}`),
    ...columns.map(({ name, sql, rangeMs }) => {
      const filter = rangeMs < widestMs ? ` FILTER (WHERE ${sinceSlot} < ${rangeMs})` : '';
      return `${sql}${filter} AS ${quoteName(name)}`;
    }),
  ];
  const conditions = [
    ...(whereSql === undefined ? [] : [`(${whereSql})`]),
    ...(widestMs === alignMs ? [] : [`${sinceSlot} < ${widestMs}`]),
  ];
  const from =
    steps === 1
      ? input.sql
      : `${input.sql} CROSS JOIN (SELECT unnest(generate_series(0, ${steps - 1})) AS __step) AS __steps`;
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return `SELECT ${items.join(', ')} FROM ${from}${where} GROUP BY ${groups(keys.length)}`;
}

/** Returns the SQL of the time index in whole milliseconds, rounded down: `epoch_ms` rounds towards 1970. */
function timeMsSql(input: RangeInput): string {
  const unit = dataType(input.timeIndex.type ?? 'TimestampMillisecond').timeUnit;
  if (unit !== 'us' && unit !== 'ns') return `epoch_ms(${timeRef(input)})`;
  const [units, perMs] =
    unit === 'us' ? [`epoch_us(${timeRef(input)})`, 1_000] : [`epoch_ns(${timeRef(input)})`, 1_000_000];
  return `((${units} - (${units} % ${perMs} + ${perMs}) % ${perMs}) // ${perMs})`;
}

/** Returns the SQL of the time index of the input. */
export function timeRef({ alias, timeIndex }: RangeInput): string {
  return alias === '' ? quoteName(timeIndex.name) : `${quoteName(alias)}.${quoteName(timeIndex.name)}`;
}

function keyNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `__by${i}`);
}

function groups(keyCount: number): string {
  return ['__slot', ...keyNames(keyCount)].join(', ');
}

/** Adds the slots between the first and the last one of each series, and fills them. */
function fillSql(plan: RangePlan): string {
  const { alignMs, columns } = plan;
  const keys = keyNames(plan.keys.length);
  const partition = keys.length === 0 ? '' : `PARTITION BY ${keys.join(', ')} `;
  const series = `OVER (${partition}ORDER BY __slot)`;
  const next = `SELECT *, lead(__slot) ${series} AS __next FROM (${slotSql(plan)}) AS __slots`;
  const gap = `generate_series(__slot, coalesce(__next - ${alignMs}, __slot), ${alignMs})`;
  const isLong = `__next - __slot > ${alignMs * GAP_SLOTS_MAX}`;
  const failure = `error('FILL adds more than ${GAP_SLOTS_MAX} slots between two slots with rows: use a longer ALIGN')`;
  const all = `SELECT *, unnest(CASE WHEN ${isLong} THEN ${failure} ELSE ${gap} END) AS __at FROM (${next}) AS __next_slots`;
  const complete = columns.map(({ name, emptySql }) => {
    const column = quoteName(name);
    return `CASE WHEN __at = __slot THEN ${column} ELSE ${emptySql} END AS ${column}`;
  });
  const empties = `SELECT ${[...keys, '__at AS __slot', ...complete].join(', ')} FROM (${all}) AS __all_slots`;
  const filled = columns.map(({ name, fill }) => {
    const column = quoteName(name);
    return `${filledSql(column, fill, series)} AS ${column}`;
  });
  return `SELECT ${[...keys, '__slot', ...filled].join(', ')} FROM (${empties}) AS __complete`;
}

function filledSql(column: string, fill: Fill | undefined, series: string): string {
  switch (fill?.kind) {
    case 'prev':
      return `coalesce(${column}, lag(${column} IGNORE NULLS) ${series})`;
    case 'constant':
      return `coalesce(${column}, ${fill.sql})`;
    case 'linear':
      return linearSql(column, series);
    default:
      return column;
  }
}

/** Draws a line through the points on both sides of a gap, or through the two nearest ones before the first or after the last. */
function linearSql(column: string, series: string): string {
  const value = `CAST(${column} AS DOUBLE)`;
  const time = `CASE WHEN ${column} IS NOT NULL THEN __slot END`;
  const point = (side: 'lag' | 'lead', distance: 1 | 2): Point => ({
    value: `${side}(${value}, ${distance} IGNORE NULLS) ${series}`,
    time: `${side}(${time}, ${distance} IGNORE NULLS) ${series}`,
  });
  const [before, earlier, after, later] = [point('lag', 1), point('lag', 2), point('lead', 1), point('lead', 2)];
  return (
    `CASE WHEN ${column} IS NOT NULL THEN ${value} WHEN ${before.value} IS NULL THEN ${lineSql(after, later)} ` +
    `WHEN ${after.value} IS NULL THEN ${lineSql(earlier, before)} ELSE ${lineSql(before, after)} END`
  );
}

interface Point {
  readonly value: string;
  readonly time: string;
}

function lineSql(a: Point, b: Point): string {
  return `${a.value} + (${b.value} - ${a.value}) * (__slot - ${a.time}) / (${b.time} - ${a.time})`;
}
