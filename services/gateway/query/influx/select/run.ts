import type { Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, UNIT_NS } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';

import { stringifyJson, type JsonValue } from '../../../protocols/common/json.js';
import { isoTimeText } from '../../logs/rows.js';
import type { SqlRow } from '../../sql-rows.js';
import { conditionSql, timeBounds, type InfluxTimeBounds } from '../conditions.js';
import type { InfluxCursor } from '../influxql.js';
import { tooManyValues, type InfluxSeries, type InfluxSession, type InfluxStatement } from '../session.js';
import { measurements } from '../sources.js';
import { selectColumns, type SelectColumns } from './columns.js';
import { computedPoints, filledPoints, intervalCount, type FilledRange, type SelectPoint } from './points.js';
import { parseSelect, type SelectStatement } from './statement.js';

/** `SELECT field, .. FROM n, .. [WHERE ..] [GROUP BY time(d), tag, ..] [fill(..)] [ORDER BY time DESC] [LIMIT n] ..`. */
export function readSelect(cursor: InfluxCursor): InfluxStatement['run'] {
  const statement = parseSelect(cursor);
  return async (session) => {
    const series: InfluxSeries[] = [];
    for (const table of await measurements(session, undefined, statement.sources)) {
      series.push(...(await new TableSelect(session, table, statement).series()));
    }
    return series;
  };
}

/** Rows of a table with the same tags. */
interface TagGroup {
  readonly tags: readonly JsonValue[];
  readonly points: SelectPoint[];
}

/** A `SELECT` from one table. */
class TableSelect {
  readonly #session: InfluxSession;
  readonly #table: Table;
  readonly #statement: SelectStatement;
  readonly #tags: readonly string[];
  readonly #columns: SelectColumns;
  readonly #bounds: InfluxTimeBounds;
  readonly #time: string;

  constructor(session: InfluxSession, table: Table, statement: SelectStatement) {
    const { groups, where } = statement;
    this.#session = session;
    this.#table = table;
    this.#statement = statement;
    this.#tags = groupTags(table, statement);
    this.#columns = selectColumns(statement.fields, table, new Set(this.#tags));
    this.#time = quoteName(timeIndexOf(table).name);
    const bounds = timeBounds(where, session.nowMs);
    // Intervals end now, unless the statement says otherwise.
    const toNs = bounds.toNs ?? (groups.everyNs === undefined ? undefined : BigInt(session.nowMs) * 1_000_000n);
    this.#bounds = { fromNs: bounds.fromNs, toNs };
    if (groups.everyNs !== undefined && !this.#columns.isAggregate) {
      throw invalid('GROUP BY requires at least one aggregate function');
    }
  }

  /** Returns the series. @throws `invalid_arguments` if they have too many values. */
  async series(): Promise<InfluxSeries[]> {
    const { sql, names } = this.#columns;
    if (!sql.some((column) => column !== 'NULL')) return [];
    const { room, slices } = this.#session;
    const width = 1 + Math.max(names.length, this.#tags.length + sql.length);
    const rowsMax = room.rows(width);
    const rows = await this.#session.execute(this.#sql(rowsMax), this.#table.database);
    if (rows.length > rowsMax) throw tooManyValues();
    const groups = await this.#grouped(rows);
    const { seriesLimit, seriesOffset } = this.#statement;
    const shown = groups.slice(seriesOffset, seriesLimit === 0 ? undefined : seriesOffset + seriesLimit);
    const range = this.#filledRange(shown, rowsMax);
    const series: InfluxSeries[] = [];
    for (const group of shown) {
      const found = this.#seriesOf(range === undefined ? group : this.#filled(group, range));
      if (found === undefined) continue;
      room.reserve(found.values.length, width);
      series.push(found);
      if (slices.isOver(found.values.length * width)) await slices.yield();
    }
    return series;
  }

  #sql(rowsMax: number): string {
    const { sql, isAggregate } = this.#columns;
    const tags = this.#tagSql();
    const from = `FROM ${quoteName(this.#table.name)} WHERE ${this.#whereSql()}`;
    const positions = tags.map((_tag, i) => i + 2);
    const isGrouped = this.#statement.groups.everyNs !== undefined;
    const byTime = isAggregate && !isGrouped ? [] : [1];
    const group =
      isAggregate && byTime.length + tags.length > 0 ? `GROUP BY ${[...byTime, ...positions].join(', ')} ` : '';
    const direction = this.#statement.isDescending && !isAggregate ? ' DESC' : '';
    const order = byTime.map((position) => `${position}${direction}`);
    const ordered = order.length === 0 ? '' : `ORDER BY ${order.join(', ')} `;
    return `SELECT ${[this.#timeSql(), ...tags, ...sql].join(', ')} ${from} ${group}${ordered}${this.#limitSql(rowsMax)}`;
  }

  #tagSql(): string[] {
    const known = new Set(this.#table.columns.filter(({ kind }) => kind === 'tag').map(({ name }) => name));
    return this.#tags.map((tag) => (known.has(tag) ? quoteName(tag) : "''"));
  }

  /** Returns the time of a row of the result. */
  #timeSql(): string {
    const { isAggregate, timeSql } = this.#columns;
    const { everyNs, offsetNs } = this.#statement.groups;
    if (!isAggregate) return this.#time;
    if (everyNs === undefined) return timeSql ?? 'NULL';
    const origin = offsetNs === 0n ? '' : `, ${quoteText(isoTimeText(offsetNs))}`;
    return `date_bin(INTERVAL '${everyNs / 1_000n} microseconds', ${this.#time}${origin})`;
  }

  #whereSql(): string {
    const { where, groups } = this.#statement;
    const { sql, isAggregate } = this.#columns;
    const conditions = where === undefined ? [] : [this.#conditionSql(where)];
    if (groups.everyNs !== undefined && timeBounds(where, this.#session.nowMs).toNs === undefined) {
      const nowNs = BigInt(this.#session.nowMs) * 1_000_000n;
      conditions.push(this.#conditionSql({ kind: 'time', operator: '<=', timeNs: () => nowNs }));
    }
    // A row without any of the fields is no point.
    const present = sql.filter((column) => column !== 'NULL' && !this.#isTag(column));
    if (!isAggregate) conditions.push(`(${present.map((column) => `${column} IS NOT NULL`).join(' OR ') || 'FALSE'})`);
    return conditions.length === 0 ? 'TRUE' : conditions.join(' AND ');
  }

  #isTag(quoted: string): boolean {
    return this.#table.columns.some(({ kind, name }) => kind === 'tag' && quoteName(name) === quoted);
  }

  #conditionSql(where: NonNullable<SelectStatement['where']>): string {
    return conditionSql(where, { table: this.#table, nowMs: this.#session.nowMs, hasFields: true });
  }

  #limitSql(rowsMax: number): string {
    const { limit, offset } = this.#statement;
    const isPlain = !this.#columns.isAggregate && this.#tags.length === 0 && !this.#columns.hasTransforms;
    return isPlain && limit > 0 ? `LIMIT ${Math.min(offset + limit, rowsMax + 1)}` : `LIMIT ${rowsMax + 1}`;
  }

  async #grouped(rows: readonly SqlRow[]): Promise<TagGroup[]> {
    const { slices } = this.#session;
    const groups = new Map<string, TagGroup>();
    const width = this.#tags.length;
    for (const row of rows) {
      if (slices.isOver(row.length)) await slices.yield();
      const values = row.slice(1 + width);
      // Without rows there is one result of aggregates, in which all is null or 0.
      if (values.every((value, i) => value === null || (value === 0 && this.#columns.counts.has(i)))) continue;
      const tags = row.slice(1, 1 + width);
      const key = stringifyJson(tags);
      const group = groups.get(key) ?? { tags, points: [] };
      groups.set(key, group);
      group.points.push({ timeNs: this.#timeOf(row[0]), values });
    }
    return [...groups.values()].sort(byTags);
  }

  #timeOf(value: JsonValue): bigint {
    if (typeof value !== 'number' && typeof value !== 'bigint') return this.#bounds.fromNs ?? 0n;
    // With an origin the result is in nanoseconds.
    if (this.#statement.groups.offsetNs !== 0n) return BigInt(value);
    return BigInt(value) * UNIT_NS[dataType(timeIndexOf(this.#table).type).timeUnit ?? 'ns'];
  }

  /** Returns the intervals of the result; undefined if only those with rows are shown. */
  #filledRange(groups: readonly TagGroup[], rowsMax: number): FilledRange | undefined {
    const { groups: by, fill } = this.#statement;
    const { everyNs, offsetNs } = by;
    if (everyNs === undefined || fill === 'none' || groups.length === 0) return undefined;
    const starts = groups.map(({ points }) => points[0].timeNs);
    const first = this.#bounds.fromNs ?? starts.reduce((a, b) => (a < b ? a : b));
    const last = this.#bounds.toNs ?? first;
    const start = (ns: bigint): bigint => ns - ((((ns - offsetNs) % everyNs) + everyNs) % everyNs);
    const range = { everyNs, firstNs: start(first), lastNs: start(last) };
    if (intervalCount(range) * groups.length > rowsMax) throw tooManyValues();
    return range;
  }

  #filled({ tags, points }: TagGroup, range: FilledRange): TagGroup {
    const { fill } = this.#statement;
    return { tags, points: fill === 'none' ? points : filledPoints(points, range, fill, this.#columns.counts) };
  }

  #seriesOf({ tags, points }: TagGroup): InfluxSeries | undefined {
    const { names, values, hasTransforms, isAggregate } = this.#columns;
    const { limit, offset, isDescending, fill } = this.#statement;
    const ascending = isDescending && !isAggregate ? [...points].reverse() : points;
    let computed = computedPoints(ascending, values);
    if (hasTransforms || fill === 'none') computed = computed.filter((point) => point.values.some((it) => it !== null));
    if (isDescending) computed.reverse();
    const shown = computed.slice(offset, limit === 0 ? undefined : offset + limit);
    if (shown.length === 0) return undefined;
    const rows = shown.map((point) => [this.#session.timeOf(point.timeNs), ...point.values.map(plainValue)]);
    const named = Object.fromEntries(this.#tags.map((tag, i) => [tag, (tags[i] ?? '') as string]));
    return {
      name: this.#table.name,
      ...(this.#tags.length === 0 ? {} : { tags: named }),
      columns: ['time', ...names],
      values: rows,
    };
  }
}

/** Returns the tags of `GROUP BY`, those of the table in the order of their names after those that are named. */
function groupTags({ columns }: Table, { groups }: SelectStatement): string[] {
  const others = columns
    .filter(({ kind, name }) => kind === 'tag' && groups.tagTests.some((test) => test(name)))
    .map(({ name }) => name);
  return [...new Set([...groups.tags, ...others])].sort();
}

/** Compares series by their tags, where none is the empty text. */
function byTags(a: TagGroup, b: TagGroup): number {
  for (const [i, tag] of a.tags.entries()) {
    const [left, right] = [tag ?? '', b.tags[i] ?? ''];
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/** Values of other types than those of InfluxDB are texts. */
function plainValue(value: JsonValue): JsonValue {
  return typeof value === 'object' && value !== null ? stringifyJson(value) : value;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
