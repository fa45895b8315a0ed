import type { Column, Table } from '#shared/contracts/gen/common';
import type { BatchSet } from '#shared/rowbatch/builder';
import { type SeriesEntry, type TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import type { Tag } from '#shared/rowbatch/series-key';
import { dataType, type DataType } from '#shared/schema/data-type';
import { checkColumnName, checkTableName } from '#shared/schema/names';
import type { CellColumn } from '#shared/write/cell-value';
import type { NewColumn } from '#shared/write/writer-types';

import { itemError, requestError } from './build-error.js';
import { Held, type Item } from './item.js';
import { ColumnCell } from './transform/cell.js';
import { coercionTo, type Coerce } from './transform/coerce.js';
import { storedIndex, type ColumnIndex } from './transform/column-index.js';
import { columnCell, restType, type Transform, type TransformColumn } from './transform/transform.js';
import { compareKeys } from './values/value.js';

/** Columns that one request may add (spec: pipelines 17). */
const NEW_COLUMNS_MAX = 1_000;
const TABLES_MAX = 100;

const FLOAT64 = dataType('Float64');

/** Finds the series of a table by its tags. */
export interface SeriesFinder {
  find(table: string, key: string): SeriesEntry | undefined;
  add(table: string, key: string, tags: readonly Tag[], typeOf: (name: string) => string): SeriesEntry;
}

/** Options of a table that a row names, besides those of the request; in the order of their names. */
export type RowOptions = ReadonlyMap<string, string>;

/** Rows with equal options and the same transform. */
export interface RowGroup {
  readonly options: RowOptions;
  readonly transform: Transform;
  readonly batches: BatchSet;
  readonly tables: ReadonlyMap<string, PipelineTable>;
}

/** What the rows of a request need. */
export interface PipelineRowsOptions {
  /** The existing tables of the database. */
  readonly tables: readonly Table[];
  readonly series: SeriesFinder;
  /** Time of receipt. */
  readonly nowNs: bigint;
  /** Makes the rows of a group. */
  readonly newBatches: () => BatchSet;
}

/** All rows of a request, by their options, transforms and tables. */
export class PipelineRows {
  readonly groups: RowGroup[] = [];
  /** Time of receipt of the items. */
  nowNs: bigint;
  readonly #options: PipelineRowsOptions;
  #last: { readonly transform: Transform; readonly key: string; readonly table: PipelineTable } | undefined;
  #tableCount = 0;
  readonly #limits: ColumnLimit = { left: NEW_COLUMNS_MAX };

  constructor(options: PipelineRowsOptions) {
    this.#options = options;
    this.nowNs = options.nowNs;
  }

  /** Adds the item as a row. @throws `invalid_arguments`, and leaves nothing of it. */
  add(item: Item, transform: Transform, tableName: string, options: RowOptions): void {
    const key = optionsKey(tableName, options);
    if (this.#last?.transform !== transform || this.#last.key !== key) {
      this.#last = { transform, key, table: this.#table(transform, tableName, options) };
    }
    this.#last.table.add(item, this.nowNs);
  }

  #table(transform: Transform, name: string, options: RowOptions): PipelineTable {
    checkTableName(name);
    const group = this.#group(transform, options);
    const known = group.tables.get(name);
    if (known !== undefined) return known;
    if (++this.#tableCount > TABLES_MAX) throw requestError(`request writes to more than ${TABLES_MAX} tables`);
    const existing = this.#options.tables.find((table) => table.name === name);
    const table = new PipelineTable(group.batches.table(name), {
      transform,
      existing,
      series: this.#options.series,
      limit: this.#limits,
    });
    (group.tables as Map<string, PipelineTable>).set(name, table);
    return table;
  }

  #group(transform: Transform, options: RowOptions): RowGroup {
    const key = optionsKey('', options);
    const known = this.groups.find((group) => group.transform === transform && optionsKey('', group.options) === key);
    if (known !== undefined) return known;
    const group = { options, transform, batches: this.#options.newBatches(), tables: new Map<string, PipelineTable>() };
    this.groups.push(group);
    return group;
  }
}

function optionsKey(table: string, options: RowOptions): string {
  return options.size === 0 ? table : JSON.stringify([table, ...options]);
}

/** Columns that the request may still add. */
interface ColumnLimit {
  left: number;
}

/** A column of the rows of a table. */
export interface RowColumn {
  readonly name: string;
  readonly use: 'tag' | 'field' | 'time';
  readonly index: ColumnIndex | undefined;
  type: DataType;
  /** Undefined until the first value. */
  field: FieldBuilder | undefined;
}

interface TableOptions {
  readonly transform: Transform;
  readonly existing: Table | undefined;
  readonly series: SeriesFinder;
  readonly limit: ColumnLimit;
}

/** Rows of one table that one transform makes. */
export class PipelineTable {
  readonly builder: TableBuilder;
  /** In order of first appearance. */
  readonly columns: RowColumn[] = [];
  readonly #transform: Transform;
  readonly #existing: ReadonlyMap<string, Column>;
  readonly #series: SeriesFinder;
  readonly #limit: ColumnLimit;
  readonly #byName = new Map<string, RowColumn>();
  /** Columns of the transform, in its order. */
  readonly #listed: readonly RowColumn[];
  /** Positions of those that are tags. */
  readonly #listedTags: readonly number[];
  /** Slots of the fields that the transform names. */
  readonly #consumed = new Set<number>();
  readonly #restBySlot: (RowColumn | undefined)[] = [];
  /** The slots of the row before, and those of them that make columns, in the order of their keys. */
  #lastSlots: readonly number[] = [];
  #lastRest: readonly number[] = [];
  /** Those of them that are tags of the existing table. */
  #lastTagSlots: readonly number[] = [];
  readonly #tagTypes = new Map<string, string>();
  readonly #cell = new ColumnCell();
  readonly #timeCell = new ColumnCell();
  /** Tags and series of the row before. */
  #tags: Tag[] = [];
  #lastTags: readonly Tag[] = [];
  #lastSeries: SeriesEntry | undefined = undefined;
  /** Fields that the row made wider. */
  readonly #widened: RowColumn[] = [];

  constructor(builder: TableBuilder, { transform, existing, series, limit }: TableOptions) {
    this.builder = builder;
    this.#transform = transform;
    this.#existing = new Map(existing?.columns.map((column) => [column.name, column]));
    this.#series = series;
    this.#limit = limit;
    this.#listed = transform.columns.map((column) => this.#addListed(column, existing));
    this.#listedTags = this.#listed.flatMap(({ use }, i) => (use === 'tag' ? [i] : []));
    for (const { slot } of transform.columns) this.#consumed.add(slot);
    builder.tagTypes = this.#tagTypes;
    for (const { name, use, type } of this.columns) if (use === 'tag') this.#tagTypes.set(name, type.name);
  }

  /** Columns of the table if it is created: those of the transform, which need no value to exist. */
  newColumns(): NewColumn[] {
    const { hasFixedColumns, columns } = this.#transform;
    const count = hasFixedColumns ? columns.length : 0;
    return this.columns.slice(0, count).map(({ name, type, use, index }) => {
      const indexes = index === undefined ? [] : [storedIndex(index)];
      return { name, type: type.name, kind: use, indexes };
    });
  }

  /** Adds a row. @throws `invalid_arguments` if the item does not fit; then nothing of it stays. */
  add(item: Item, nowNs: bigint): void {
    const { builder } = this;
    const columnCount = this.columns.length;
    const rest = this.#transform.keepsRest ? this.#restSlots(item) : [];
    this.#widened.length = 0;
    let isStarted = false;
    try {
      const time = columnCell(this.#transform.time, item, this.#timeCell, nowNs);
      builder.startRow(this.#seriesOf(item, nowNs));
      isStarted = true;
      const row = builder.rowCount;
      this.#setListed(item, row, nowNs);
      for (const slot of rest) this.#setRest(item, slot, row);
      builder.endRowAt(time.toBigInt());
    } catch (error) {
      if (isStarted) builder.undoRow();
      this.#undoColumns(columnCount);
      throw error;
    }
  }

  #addListed({ name, type, use, index }: TransformColumn, existing: Table | undefined): RowColumn {
    checkNewColumn(name);
    const known = this.#existing.get(name);
    const timeName = existing?.columns.find(({ kind }) => kind === 'time')?.name;
    if (use === 'time' && timeName !== undefined && timeName !== name && !isReceiptTime(this.#transform.time)) {
      throw requestError(`time index of table "${existing?.name ?? ''}" is "${timeName}", not "${name}"`);
    }
    if (use !== 'time' && known !== undefined && known.type !== type.name) {
      throw requestError(mismatchText(name, known.type, type.name));
    }
    const role = use !== 'time' && known?.kind === 'tag' ? 'tag' : use;
    const column: RowColumn = { name, use: role, index, type, field: undefined };
    this.#byName.set(name, column);
    this.columns.push(column);
    return column;
  }

  #setListed(item: Item, row: number, nowNs: bigint): void {
    const { columns } = this.#transform;
    for (let i = 0; i < columns.length; i++) {
      const column = this.#listed[i];
      if (column.use !== 'field') continue;
      const cell = columnCell(columns[i], item, this.#cell, nowNs);
      if (cell.kind === Held.null) continue;
      column.field ??= this.builder.field(column.name, column.type.name);
      cell.write(column.field, row);
    }
  }

  /** Returns the slots of the fields that make columns by their kind, in the order of their keys. */
  #restSlots(item: Item): readonly number[] {
    if (item.hasExactly(this.#lastSlots)) return this.#lastRest;
    const { keys } = item.slots;
    const slots = item.present();
    this.#lastSlots = slots;
    this.#lastRest = slots.filter((slot) => !this.#consumed.has(slot)).sort((a, b) => compareKeys(keys[a], keys[b]));
    this.#lastTagSlots = this.#lastRest.filter((slot) => this.#existing.get(keys[slot])?.kind === 'tag');
    return this.#lastRest;
  }

  #setRest(item: Item, slot: number, row: number): void {
    const kind = item.kinds[slot];
    const given = restType(kind, this.#transform.treeType);
    if (given === undefined) return;
    const column = this.#restColumn(item, slot, given);
    if (column.use === 'tag') return;
    if (column.use === 'time') throw itemError(mismatchText(column.name, column.type.name, given));
    if (column.type.name !== given && !this.#accepts(column, given)) {
      throw itemError(mismatchText(column.name, column.type.name, given));
    }
    const field = (column.field ??= this.builder.field(column.name, column.type.name));
    switch (kind) {
      case Held.bytes:
        return field.setBytes(row, item.other[slot] as Uint8Array, item.low[slot], item.high[slot]);
      case Held.boolean:
      case Held.integer:
      case Held.float:
        return field.setNumber(row, item.low[slot]);
      default:
        restCoercion(column.type)(item, slot, this.#cell);
        this.#cell.write(field, row);
    }
  }

  /** Whether a column takes values of another type; integers and fractions of a new column make it one of floats. */
  #accepts(column: RowColumn, given: string): boolean {
    const { name } = column.type;
    if (given === 'Int64' && name === 'Float64') return true;
    if (given === 'Json' && name === 'String') return true;
    if (given !== 'Float64' || name !== 'Int64' || this.#existing.has(column.name) || this.#isListed(column)) {
      return false;
    }
    column.type = FLOAT64;
    if (column.field !== undefined) column.field.type = FLOAT64;
    this.#widened.push(column);
    return true;
  }

  #isListed(column: RowColumn): boolean {
    return this.#listed.includes(column);
  }

  #restColumn(item: Item, slot: number, given: string): RowColumn {
    const known = this.#restBySlot[slot];
    if (known !== undefined) return known;
    const name = item.slots.keys[slot];
    const listed = this.#byName.get(name);
    if (listed !== undefined) return listed;
    checkNewColumn(name);
    const existing = this.#existing.get(name);
    if (existing === undefined && --this.#limit.left < 0) {
      throw requestError(`request adds more than ${NEW_COLUMNS_MAX} columns`);
    }
    const use = existing?.kind === 'tag' || existing?.kind === 'time' ? existing.kind : 'field';
    const type = dataType(existing?.type ?? given);
    const column: RowColumn = { name, use, index: undefined, type, field: undefined };
    if (use === 'tag') this.#tagTypes.set(name, type.name);
    this.#byName.set(name, column);
    this.#restBySlot[slot] = column;
    this.columns.push(column);
    return column;
  }

  #undoColumns(count: number): void {
    for (const { name } of this.columns.splice(count)) {
      this.#byName.delete(name);
      if (!this.#existing.has(name)) this.#limit.left++;
    }
    this.#restBySlot.length = 0;
    for (const column of this.#widened) {
      column.type = dataType('Int64');
      if (column.field !== undefined) column.field.type = column.type;
    }
  }

  #seriesOf(item: Item, nowNs: bigint): SeriesEntry {
    this.#tags = [];
    for (const i of this.#listedTags) {
      this.#addTag(this.#listed[i], columnCell(this.#transform.columns[i], item, this.#cell, nowNs));
    }
    for (const slot of this.#lastTagSlots) {
      const given = restType(item.kinds[slot], this.#transform.treeType);
      if (given === undefined) continue;
      const column = this.#restColumn(item, slot, given);
      if (column.type.name !== given) throw itemError(mismatchText(column.name, column.type.name, given));
      restCoercion(column.type)(item, slot, this.#cell);
      this.#addTag(column, this.#cell);
    }
    if (this.#lastSeries !== undefined && sameTags(this.#tags, this.#lastTags)) return this.#lastSeries;
    this.#lastSeries = this.#findSeries(this.#tags);
    this.#lastTags = this.#tags;
    return this.#lastSeries;
  }

  #addTag({ name, type }: RowColumn, cell: ColumnCell): void {
    if (cell.kind === Held.null) return;
    const value = cell.tagText({ column: { name } as CellColumn['column'], type });
    // As everywhere, an empty text is an absent tag.
    if (value.length > 0) this.#tags.push({ name, value });
  }

  #findSeries(tags: readonly Tag[]): SeriesEntry {
    const { table } = this.builder;
    const typeOf = (name: string): string => this.#tagTypes.get(name) ?? 'String';
    let key = '';
    for (const { name, value } of tags) {
      const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString('latin1');
      key += `${name.length}:${name}${typeOf(name)}:${value.length}:${text}`;
    }
    return this.#series.find(table, key) ?? this.#series.add(table, key, tags, typeOf);
  }
}

/** Whether a time index is one that the pipeline does not name: it may be called otherwise in the table. */
function isReceiptTime({ now }: TransformColumn): boolean {
  return now === 'invalid' || now === 'always';
}

const REST_COERCIONS = new Map<string, Coerce>();

function restCoercion(type: DataType): Coerce {
  let coerce = REST_COERCIONS.get(type.name);
  if (coerce === undefined) {
    const base = coercionTo(type);
    // Arrays and objects are texts where the column is one.
    coerce =
      type.name !== 'String'
        ? base
        : (item, slot, cell) => {
            const kind = item.kinds[slot];
            if (kind !== Held.tree && kind !== Held.json) return base(item, slot, cell);
            cell.setText(item.json(slot));
            return 0;
          };
    REST_COERCIONS.set(type.name, coerce);
  }
  return coerce;
}

/** Names come from data: what other databases and tools cannot print is refused. */
function checkNewColumn(name: string): void {
  checkColumnName(name);
  if (name.includes('\0')) throw itemError(`invalid column name "${name.replaceAll('\0', '?')}": it has a NUL`);
}

function sameTags(a: readonly Tag[], b: readonly Tag[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i].name !== b[i].name || Buffer.compare(a[i].value, b[i].value) !== 0) return false;
  }
  return true;
}

/** Returns the text of the error for a value of another type than its column. */
export function mismatchText(column: string, expected: string, actual: string): string {
  return `Column datatype mismatch. For column: ${column}, expected datatype: ${expected}, actual datatype: ${actual}`;
}
