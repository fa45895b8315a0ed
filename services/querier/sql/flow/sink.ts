import type { Column, Table } from '#shared/contracts/gen/common';
import type { ColumnSpec } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { OutputColumn } from '#shared/formats/format';
import { dataType } from '#shared/schema/data-type';
import { mergeModeOf, tagsOf, timeIndexOf } from '#shared/schema/table-schema';
import type { CellValue } from '#shared/write/cell-value';

import { converterOf } from '../syntax/cells.js';
import { defaultCell } from '../syntax/defaults.js';
import { UTC } from '#shared/time/zone';
import type { FlowPlan } from './plan.js';

const UPDATED = 'update_at';
const PLACEHOLDER = '__ts_placeholder';

/** Where the value of a sink's column comes from: a result column, or the same value in all rows of a run. */
type SinkValue = { readonly item: number } | { readonly value: CellValue };

/** A column that is written. */
interface SinkColumn {
  readonly column: Column;
  readonly from: SinkValue;
}

/** How results are stored in a sink. */
export interface SinkLayout {
  /** Columns that are written; others stay null. */
  readonly columns: readonly SinkColumn[];
  /** Whether the time index of the sink is the start of the window. */
  readonly hasWindowTime: boolean;
}

/** Returns the columns of a sink that is created for a flow. */
export function newSinkColumns(plan: FlowPlan): ColumnSpec[] {
  const time = timeItem(plan);
  const tags = tagItems(plan, time);
  const specs = plan.columns.map((column, i) => {
    const kind = i === time ? 'time' : tags.has(i) ? 'tag' : 'field';
    return specOf(column.name, storableType(column), kind);
  });
  const has = (name: string): boolean => specs.some((spec) => spec.name === name);
  if (!plan.isTql && !has(UPDATED)) specs.push(specOf(UPDATED, 'TimestampMillisecond', 'field'));
  if (time === undefined) specs.push(specOf(PLACEHOLDER, 'TimestampMillisecond', 'time'));
  return specs;
}

function specOf(name: string, type: string, kind: string): ColumnSpec {
  return { name, type, kind, nullable: kind !== 'time', defaultSql: '', comment: '', indexes: [] };
}

function storableType({ name, type }: OutputColumn): string {
  try {
    return dataType(type.name).name;
  } catch {
    const text = `column "${name}" of the flow has the type ${type.name}, which no table can store: cast it to another type`;
    throw new AlmanacError('plan_query', text);
  }
}

function timeItem({ columns, shape, isTql, sourceItems }: FlowPlan): number | undefined {
  const times = columns.flatMap((column, i) => (isTime(column.type.name) ? [i] : []));
  const isOf = (item: number | undefined): item is number => item !== undefined && times.includes(item);
  if (isOf(shape.windowItem)) return shape.windowItem;
  if (shape.isGrouped && !isTql) return shape.keyItems.find(isOf);
  return isOf(sourceItems.time) ? sourceItems.time : times.at(0);
}

function tagItems({ columns, shape, isTql, sourceItems }: FlowPlan, time: number | undefined): ReadonlySet<number> {
  if (shape.isGrouped && !isTql) return new Set(shape.keyItems.filter((item) => item !== time));
  if (shape.isProjection) return new Set(sourceItems.tags);
  return new Set(columns.flatMap(({ type }, i) => (type.name === 'String' ? [i] : [])));
}

function isTime(type: string): boolean {
  return type.startsWith('Timestamp');
}

/**
 * Determines how results are stored in an existing sink: by name if it has a column of each name, otherwise by position.
 *
 * @param nowNs time of the run.
 * @throws `execute_query` if they do not fit.
 */
export function sinkLayout(table: Table, plan: FlowPlan, nowNs: bigint): SinkLayout {
  const { columns: outputs } = plan;
  const isPartial = mergeModeOf(table) === 'last_non_null';
  if (isPartial) checkPartial(table, outputs);
  if (!plan.isStreaming && outputs.length > table.columns.length) throw mismatch(table, outputs);
  const columns = targetsOf(table, outputs).map((column, item): SinkColumn => ({ column, from: { item } }));
  const isTaken = new Set(columns.map(({ column }) => column.id));
  for (const column of table.columns.filter(({ id }) => !isTaken.has(id))) {
    const value = fillOf(column, plan, nowNs);
    if (value !== undefined) columns.push({ column, from: { value } });
    else if (!column.nullable || (!isPartial && column.kind === 'tag')) throw mismatch(table, outputs);
  }
  const time = columns.find(({ column }) => column.kind === 'time')?.from;
  const { window, windowItem } = plan.shape;
  const hasWindowTime = window !== undefined && time !== undefined && 'item' in time && time.item === windowItem;
  return { columns, hasWindowTime };
}

/** Returns the column of the sink for each result column. @throws `execute_query` if there is none of its type. */
function targetsOf(table: Table, outputs: readonly OutputColumn[]): Column[] {
  const byName = new Map(table.columns.map((column) => [column.name, column]));
  const isNamed = outputs.every(({ name }) => byName.has(name));
  const targets = outputs.flatMap(({ name, type }, i) => {
    const target = isNamed ? byName.get(name) : table.columns.at(i);
    if (target !== undefined && !isSameFamily(target.type, type.name)) throw typeMismatch(i, name, target, type.name);
    return target ?? [];
  });
  if (new Set(targets).size !== outputs.length) throw mismatch(table, outputs);
  return targets;
}

/** Returns the value of a column that is no result column; undefined: it stays null. */
function fillOf(column: Column, { isStreaming }: FlowPlan, nowNs: bigint): CellValue | undefined {
  const converter = converterOf(column, UTC);
  if (column.kind === 'time' && (column.name === PLACEHOLDER || (!isStreaming && column.defaultSql === ''))) {
    return converter.time(0n);
  }
  if (column.defaultSql !== '') return defaultCell(column, nowNs);
  return isTime(column.type) && column.kind === 'field' ? converter.time(nowNs) : undefined;
}

function checkPartial(table: Table, outputs: readonly OutputColumn[]): void {
  const missing = [...tagsOf(table), timeIndexOf(table)].filter(({ name, defaultSql }) => {
    return name !== PLACEHOLDER && defaultSql === '' && outputs.every((output) => output.name !== name);
  });
  if (missing.length === 0) return;
  const names = quoted(missing.map(({ name }) => name));
  throw refused(
    `Column(s) ${names} required by sink table are missing from flow output when merge_mode=last_non_null. ` +
      mismatchText(table, outputs),
  );
}

function mismatch(table: Table, outputs: readonly OutputColumn[]): AlmanacError {
  return refused(mismatchText(table, outputs));
}

function mismatchText({ columns }: Table, outputs: readonly OutputColumn[]): string {
  const names = outputs.map(({ name }) => name);
  const stored = columns.map(({ name }) => name);
  const extra = names.filter((name) => !stored.includes(name));
  const missing = stored.filter((name) => !names.includes(name));
  return (
    `Flow output schema does not match sink table schema: found ${names.length} flow output columns and ` +
    `${stored.length} sink table columns. flow output columns: ${quoted(names)}, sink table columns: ${quoted(stored)}, ` +
    `extra flow columns not in sink: ${quoted(extra)}, missing sink columns from flow output: ${quoted(missing)}`
  );
}

function typeMismatch(i: number, output: string, { name, type }: Column, given: string): AlmanacError {
  const text = `Column ${i}(name is '${name}', flow inferred name is '${output}')'s data type mismatch, expect ${type} got ${given}`;
  return new AlmanacError('execute_query', `Invalid query: ${text}`);
}

function refused(text: string): AlmanacError {
  return new AlmanacError('execute_query', text);
}

const NAMES_SHOWN = 50;

function quoted(names: readonly string[]): string {
  const more = names.length > NAMES_SHOWN ? ', ..' : '';
  return `[${names
    .slice(0, NAMES_SHOWN)
    .map((name) => JSON.stringify(name))
    .join(', ')}${more}]`;
}

type Family = 'time' | 'text' | 'number' | 'other';

function isSameFamily(stored: string, given: string): boolean {
  return given === 'Null' || familyOf(stored) === familyOf(given) || familyOf(stored) === 'other';
}

function familyOf(type: string): Family {
  if (isTime(type)) return 'time';
  if (type === 'String') return 'text';
  return /^(?:U?Int\d+|Float\d+|Decimal)/.test(type) ? 'number' : 'other';
}
