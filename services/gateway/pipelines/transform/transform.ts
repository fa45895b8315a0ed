import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, type DataType, type TimeUnit } from '#shared/schema/data-type';

import { buildError, isItemError, itemError } from '../build-error.js';
import { Held, Item, KeySlots } from '../item.js';
import { Options } from '../options.js';
import { timeCountOf } from '../values/timestamp.js';
import { isArray, isObject, printValue, type PipelineValue } from '../values/value.js';
import { ColumnCell } from './cell.js';
import { coercionTo, Coercion, failureText, type Coerce } from './coerce.js';
import { checkIndexedType, indexUse, type ColumnIndex } from './column-index.js';
import { columnType, TIME_TYPES, typeLabel } from './column-type.js';

/** A column that a pipeline makes of one field of an item. */
export interface TransformColumn {
  /** Slot of the field. */
  readonly slot: number;
  readonly key: string;
  readonly name: string;
  readonly type: DataType;
  readonly use: 'tag' | 'field' | 'time';
  readonly index: ColumnIndex | undefined;
  readonly coerce: Coerce;
  readonly onFailure: 'fail' | 'ignore' | 'default';
  /** Value where the type does not take the given one, with `onFailure: default`. */
  readonly fallback: ColumnCell | undefined;
  /** Whether the fallback also counts where the field is absent. */
  readonly fillsAbsent: boolean;
  /** Of a time index: whether the current time counts where the field is absent, also where it is no time, or always. */
  readonly now: 'never' | 'absent' | 'invalid' | 'always';
  /** Of a time index: error where the field is absent. */
  readonly absentText: string;
}

/** How items become rows (spec: pipelines 5). */
export interface Transform {
  /** In the order of the columns of a new table; one of them is the time index. */
  readonly columns: readonly TransformColumn[];
  readonly time: TransformColumn;
  /** Whether fields that no column names become columns, by their kind. */
  readonly keepsRest: boolean;
  /** Type of arrays and objects among these. */
  readonly treeType: 'Json' | 'String';
  /** Whether names and types of all columns of new tables are known. */
  readonly hasFixedColumns: boolean;
}

/** A field that processors make a time. */
export interface TimeField {
  readonly key: string;
  readonly unit: TimeUnit;
}

const NOT_NULL = 'Time index must be non null.';
const KNOWN_KEYS = new Set(['field', 'fields', 'type', 'index', 'tag', 'on_failure', 'default']);

/** What a transform is made of besides its text. */
export interface TransformContext {
  readonly slots: KeySlots;
  readonly version: 1 | 2;
  /** Name of the time index where a pipeline names none. */
  readonly timeColumn: string;
  /** Fields of processors that make times of them and do not tolerate their absence. */
  readonly timeFields: readonly TimeField[];
  readonly warn: (text: string) => void;
}

/** Compiles a transform; without entries, an automatic one. @throws `invalid_arguments`. */
export function compileTransform(given: PipelineValue, context: TransformContext): Transform {
  if (given !== null && !isArray(given)) throw buildError('Transform must be a list');
  const entries = given ?? [];
  if (entries.length === 0) return autoTransform(context);
  const columns = entries.flatMap((entry, i) => entryColumns(entry, i, context));
  checkUnique(columns);
  const times = columns.filter(({ use }) => use === 'time');
  if (times.length > 1) {
    const names = times.map(({ name }) => name).join(', ');
    throw buildError(
      `Transform must have exactly one field specified as timestamp Index, but got ${times.length}: ${names}`,
    );
  }
  if (times.length === 0 && context.version === 2) {
    throw buildError(
      'Transform must have exactly one field specified as timestamp Index, but got 0: add `index: timestamp` to a column',
    );
  }
  const time = times[0] ?? receiptTime(context);
  const all = times.length === 0 ? [...columns.filter(({ name }) => name !== time.name), time] : columns;
  return { columns: all, time, keepsRest: context.version === 2, treeType: 'Json', hasFixedColumns: true };
}

/** The time index that is added where a pipeline names none: the field of that name if it is a time, else the clock. */
export function receiptTime({ slots, timeColumn }: Pick<TransformContext, 'slots' | 'timeColumn'>): TransformColumn {
  return { ...timeIndex(slots, timeColumn, 'ns'), now: 'invalid' };
}

/** Returns a time index over the field of the same name. */
export function timeIndex(slots: KeySlots, key: string, unit: TimeUnit): TransformColumn {
  const type = dataType(TIME_TYPES[unit]);
  return {
    slot: slots.slotOf(key),
    key,
    name: key,
    type,
    use: 'time',
    index: undefined,
    coerce: coercionTo(type),
    onFailure: 'fail',
    fallback: undefined,
    fillsAbsent: false,
    now: 'never',
    absentText: `missing field: ${key}`,
  };
}

function autoTransform({ slots, timeFields }: TransformContext): Transform {
  if (timeFields.length !== 1) {
    throw buildError(
      'Exactly one time-related processor and one timestamp value is required to use auto transform. ' +
        `Name the columns in \`transform\`, or use one date or epoch processor with one field, without ignore_missing: got ${timeFields.length}`,
    );
  }
  const [{ key, unit }] = timeFields;
  const time = timeIndex(slots, key, unit);
  return { columns: [time], time, keepsRest: true, treeType: 'Json', hasFixedColumns: false };
}

function checkUnique(columns: readonly TransformColumn[]): void {
  const seen = new Set<string>();
  for (const { name } of columns) {
    if (seen.has(name)) throw buildError(`Column name must be unique, but got duplicated: ${name}`);
    seen.add(name);
  }
}

function entryColumns(entry: PipelineValue, position: number, context: TransformContext): TransformColumn[] {
  if (!isObject(entry)) throw buildError('Transform element must be a map');
  for (const key of entry.keys()) {
    if (!KNOWN_KEYS.has(key)) context.warn(`transform[${position}]: unknown option ${key}`);
  }
  const options = new Options(entry);
  const fields = options.fields();
  if (fields.length === 0) throw buildError('Transform fields must be set.');
  const names = fields.map(({ to }) => to).join(', ');
  const typeText = options.text('type');
  if (typeText === undefined) throw buildError(`Transform ${names} type MUST BE set.`);
  const type = columnType(typeText);
  const indexed = indexUse(options.value('index'));
  checkIndexedType(indexed, type);
  if (indexed.isTimeIndex && type.timeUnit === undefined) throw buildError('time index must be a timestamp type');
  if (indexed.isTimeIndex && fields.length > 1) {
    throw buildError(`Illegal to set multiple timestamp Index columns, please set only one: ${names}`);
  }
  const onFailure = readOnFailure(options);
  const byDefault = readDefault(options, typeText, type);
  const fallback = byDefault ?? (onFailure === 'default' ? zero(type) : undefined);
  const isTag = options.flag('tag', false) || indexed.isTag;
  return fields.map(({ from, to }) => ({
    slot: context.slots.slotOf(from),
    key: from,
    name: to,
    type,
    use: indexed.isTimeIndex ? 'time' : isTag ? 'tag' : 'field',
    index: indexed.index,
    coerce: coercionTo(type),
    onFailure: byDefault === undefined ? onFailure : 'default',
    fallback,
    fillsAbsent: byDefault !== undefined,
    now: onFailure === 'default' ? 'absent' : 'never',
    absentText: NOT_NULL,
  }));
}

function readOnFailure(options: Options): TransformColumn['onFailure'] {
  const given = options.text('on_failure')?.toLowerCase();
  if (given === undefined) return 'fail';
  if (given === 'ignore' || given === 'default') return given;
  throw buildError(`Invalid transform on_failure value: ${given}`);
}

function readDefault(options: Options, typeText: string, type: DataType): ColumnCell | undefined {
  const given = options.value('default');
  if (given === undefined || isArray(given) || isObject(given)) return undefined;
  if (type.timeUnit !== undefined || type.name === 'Json') {
    throw buildError(`Default value not unsupported for type ${typeLabel(type)}`);
  }
  const item = new Item(new KeySlots(['default']));
  item.setText(0, printValue(given));
  const cell = new ColumnCell();
  if (coercionTo(type)(item, 0, cell) === Coercion.done) return cell;
  throw buildError(`Failed to parse ${typeText}: ${printValue(given)}`);
}

function zero(type: DataType): ColumnCell | undefined {
  if (type.timeUnit !== undefined || type.name === 'Json') return undefined;
  const cell = new ColumnCell();
  if (type.storage === 'text') cell.setText('');
  else cell.setNumber(0);
  return cell;
}

/**
 * Finds the value of a column.
 *
 * @param nowNs the current time, for a time index without a value.
 * @returns the cell, or another one with the default.
 * @throws `invalid_arguments` if the value does not fit.
 */
export function columnCell(column: TransformColumn, item: Item, cell: ColumnCell, nowNs: bigint): ColumnCell {
  const { slot, use } = column;
  if (column.now === 'always') return setNow(column, cell, nowNs);
  if (item.isMissing(slot)) {
    if (use === 'time') return missingTime(column, item, cell, nowNs);
    if (!item.has(slot) && column.fillsAbsent && column.fallback !== undefined) return column.fallback;
    cell.setNull();
    return cell;
  }
  const outcome = column.now === 'invalid' ? coercedOrRefused(column, item, cell) : column.coerce(item, slot, cell);
  if (outcome === Coercion.done) return cell;
  if (column.now === 'invalid') return setNow(column, cell, nowNs);
  return failed(column, item, cell, outcome);
}

/** Some coercions have error texts of their own, which do not matter here. */
function coercedOrRefused({ coerce, slot }: TransformColumn, item: Item, cell: ColumnCell): Coercion {
  try {
    return coerce(item, slot, cell);
  } catch (error) {
    if (!isItemError(AlmanacError.from(error))) throw error;
    return Coercion.refused;
  }
}

function missingTime(column: TransformColumn, item: Item, cell: ColumnCell, nowNs: bigint): ColumnCell {
  const isNow = column.now === 'invalid' || (column.now === 'absent' && !item.has(column.slot));
  if (isNow) return setNow(column, cell, nowNs);
  throw itemError(item.has(column.slot) ? NOT_NULL : column.absentText);
}

function setNow({ type }: TransformColumn, cell: ColumnCell, nowNs: bigint): ColumnCell {
  cell.setBigInt(timeCountOf(nowNs, type.timeUnit ?? 'ns'));
  return cell;
}

function failed(column: TransformColumn, item: Item, cell: ColumnCell, outcome: Coercion): ColumnCell {
  const { slot, type, onFailure, fallback, use } = column;
  if (outcome !== Coercion.refused && onFailure === 'default') {
    if (fallback !== undefined) return fallback;
    throw itemError('Type: Default value not supported for Epoch');
  }
  if (outcome !== Coercion.refused && onFailure === 'ignore') {
    if (use === 'time') throw itemError(NOT_NULL);
    cell.setNull();
    return cell;
  }
  throw itemError(`${failureText(item, slot, type, outcome)} (column ${column.name})`);
}

/** Native type of a column of fields that are held in a way; undefined for those without a value. */
export function restType(kind: Held, treeType: Transform['treeType']): string | undefined {
  switch (kind) {
    case Held.boolean:
      return 'Boolean';
    case Held.integer:
    case Held.bigint:
      return 'Int64';
    case Held.float:
      return 'Float64';
    case Held.bytes:
    case Held.text:
      return 'String';
    case Held.timestamp:
      return TIME_TYPES.ns;
    case Held.tree:
    case Held.json:
      return treeType;
    default:
      return undefined;
  }
}
