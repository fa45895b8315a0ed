import { hasBytes } from '#shared/bytes/equal';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet, SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { dataType } from '#shared/schema/data-type';
import { checkColumnName } from '#shared/schema/names';

import type { DocumentTarget } from './document-target.js';
import { JsonKind, type JsonMember, type JsonTape } from './json-tape.js';
import { RequestRows } from './request-rows.js';
import type { TagSeriesCache } from './tag-series.js';

const FLOAT64 = dataType('Float64');
/** Native types of new columns, by `JsonKind`. */
const TYPES: readonly string[] = (() => {
  const types = new Array<string>(JsonKind.replaced).fill('String');
  types[JsonKind.false] = types[JsonKind.true] = 'Boolean';
  types[JsonKind.integer] = 'Int64';
  types[JsonKind.double] = 'Float64';
  return types;
})();

/** Dependencies of the rows of one request. */
export interface DocumentRowsOptions {
  /** The existing tables of the database: the types of their columns decide. */
  readonly tables: readonly Table[];
  readonly series: TagSeriesCache;
  readonly tape: JsonTape;
}

/** What is known of a table. */
interface DocumentTable {
  readonly name: string;
  readonly columns: Map<string, DocumentColumn>;
}

/** A column of a table. */
interface DocumentColumn {
  readonly table: DocumentTable;
  readonly name: string;
  /** `tag`, `field` or `time`, and the type; undefined if the table does not have the column yet. */
  readonly kind: string | undefined;
  readonly type: string | undefined;
  /** Undefined until the first value. */
  field: FieldBuilder | undefined;
}

/** The tags of a row: their names, and the bytes of their values. */
class RowTags {
  readonly names: string[] = [];
  readonly #sources: Uint8Array[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];

  get count(): number {
    return this.names.length;
  }

  clear(): void {
    this.names.length = this.#sources.length = this.#from.length = this.#to.length = 0;
  }

  /** Adds a tag whose value is `source[from, to)`; an empty one is left out. */
  add(name: string, source: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    this.names.push(name);
    this.#sources.push(source);
    this.#from.push(from);
    this.#to.push(to);
  }

  /** Returns a copy of the values. */
  values(): Buffer[] {
    return this.#sources.map((source, i) => Buffer.from(source.subarray(this.#from[i], this.#to[i])));
  }

  /** Whether these are the tags with those names and values, in the same order. */
  equal(names: readonly string[], values: readonly Buffer[]): boolean {
    if (this.names.length !== names.length) return false;
    for (let i = 0; i < names.length; i++) {
      if (this.names[i] !== names[i] || !hasBytes(this.#sources[i], this.#from[i], this.#to[i], values[i])) {
        return false;
      }
    }
    return true;
  }
}

/** Stores JSON documents as rows with a column for each value: names of nested members are joined with dots. */
export class DocumentRows implements DocumentTarget {
  readonly tape: JsonTape;
  readonly #rows: RequestRows;
  readonly #options: DocumentRowsOptions;
  readonly #tables = new Map<string, DocumentTable>();
  readonly #tags = new RowTags();
  /** Positions in the tape of the values that become tags, and of those that become fields. */
  readonly #tagValues: number[] = [];
  readonly #fieldValues: number[] = [];
  /** Columns of `#fieldValues`. */
  readonly #fieldColumns: DocumentColumn[] = [];
  #text: { readonly name: string; readonly bytes: Buffer } | undefined = undefined;
  /** Tags and series of the row before: most rows have the same. */
  #lastTable: DocumentTable | undefined = undefined;
  #lastNames: readonly string[] = [];
  #lastValues: readonly Buffer[] = [];
  #lastSeries: SeriesEntry | undefined = undefined;

  constructor(batches: BatchSet, options: DocumentRowsOptions) {
    this.#rows = new RequestRows(batches, undefined);
    this.#options = options;
    this.tape = options.tape;
  }

  /** Adds a tag to the next row; an empty value is left out. */
  tag(name: string, value: string): void {
    const bytes = Buffer.from(value);
    this.#tags.add(name, bytes, 0, bytes.length);
  }

  /** Adds a value of the tape to the next row, as a tag with its text. */
  tagValue(index: number): void {
    this.#tagValues.push(index);
  }

  /** Adds a value of the tape to the next row, as a field: lists as JSON. Null, and objects without members, add nothing. */
  fieldValue(index: number): void {
    this.#fieldValues.push(index);
  }

  /** Adds the one field of a row that is not read from the tape. */
  textField(name: string, text: string): void {
    this.#text = { name, bytes: Buffer.from(text) };
  }

  /** Discards what was added to the next row. */
  clear(): void {
    this.#tags.clear();
    this.#tagValues.length = this.#fieldValues.length = this.#fieldColumns.length = 0;
    this.#text = undefined;
  }

  /**
   * Ends the row with its time in nanoseconds.
   *
   * @throws `invalid_arguments` for names that are not allowed, too many tables or columns, and values that do not fit the
   *   type of their column; then the row is discarded.
   */
  end(tableName: string, time: bigint): void {
    const table = this.#tableOf(tableName);
    const builder = this.#rows.builderOf(table);
    this.#sortValues(table);
    const row = builder.rowCount;
    builder.startRow(this.#seriesOf(table));
    try {
      for (let i = 0; i < this.#fieldColumns.length; i++) {
        this.#setValue(builder, this.#fieldColumns[i], row, this.#fieldValues[i]);
      }
      if (this.#text !== undefined) this.#setText(builder, table, row, this.#text);
    } catch (error) {
      builder.undoRow();
      throw error;
    }
    builder.endRowAt(time);
    this.clear();
  }

  /** Checks the size of the request. @throws `invalid_arguments` if rows have too many gaps. */
  checkSize(): void {
    this.#rows.checkSize();
  }

  /** Makes tags of values whose columns are tags, and fields of tags whose columns are fields. */
  #sortValues(table: DocumentTable): void {
    const { tape } = this;
    const { kinds, members } = tape;
    const fields = this.#fieldValues;
    let count = 0;
    for (const index of fields) {
      const kind = kinds[index];
      if (kind === JsonKind.null || kind === JsonKind.empty || kind === JsonKind.replaced) continue;
      const column = this.#columnOfMember(table, members[index]);
      if (column.kind === 'tag') this.#addTag(column.name, index);
      else {
        fields[count] = index;
        this.#fieldColumns[count++] = column;
      }
    }
    fields.length = count;
    for (const index of this.#tagValues) {
      const kind = kinds[index];
      if (kind === JsonKind.null || kind === JsonKind.empty || kind === JsonKind.replaced) continue;
      const column = this.#columnOfMember(table, members[index]);
      if (column.kind !== 'field') this.#addTag(column.name, index);
      else {
        fields.push(index);
        this.#fieldColumns.push(column);
      }
    }
  }

  #addTag(name: string, index: number): void {
    const { kinds, bytes, from, to } = this.tape;
    const kind = kinds[index];
    if (kind !== JsonKind.escaped && kind !== JsonKind.list) {
      this.#tags.add(name, bytes, from[index], to[index]);
      return;
    }
    const text = Buffer.from(this.tape.text(index));
    this.#tags.add(name, text, 0, text.length);
  }

  #setValue(builder: TableBuilder, column: DocumentColumn, row: number, index: number): void {
    const { tape } = this;
    const kind = tape.kinds[index];
    const integer = kind === JsonKind.integer ? tape.integer(index) : undefined;
    // Integers of more than 64 bits are stored as doubles.
    const given = kind === JsonKind.integer && integer === undefined ? 'Float64' : TYPES[kind];
    let { field } = column;
    if (field?.type.name !== given) field = this.#fieldFor(builder, column, given);
    switch (kind) {
      case JsonKind.false:
      case JsonKind.true:
        return field.setNumber(row, kind === JsonKind.true ? 1 : 0);
      case JsonKind.integer:
      case JsonKind.double:
        if (typeof integer !== 'bigint') return field.setNumber(row, integer ?? tape.number(index));
        if (field.type === FLOAT64) return field.setNumber(row, Number(integer));
        return field.setBigInt(row, integer);
      case JsonKind.text:
        return field.setBytes(row, tape.bytes, tape.from[index], tape.to[index]);
      default:
        return field.setText(row, tape.text(index));
    }
  }

  #setText(
    builder: TableBuilder,
    table: DocumentTable,
    row: number,
    { name, bytes }: { readonly name: string; readonly bytes: Buffer },
  ): void {
    this.#fieldFor(builder, this.#columnOf(table, name), 'String').setBytes(row, bytes, 0, bytes.length);
  }

  /** Returns the field for a value of a type. @throws `invalid_arguments` if the value does not fit the column. */
  #fieldFor(builder: TableBuilder, column: DocumentColumn, given: string): FieldBuilder {
    const { name, kind, type = given } = column;
    if (builder.fieldNamed(name) === undefined) checkColumnName(name);
    const isFraction = given === 'Float64' && type === 'Int64';
    if (kind === 'time' || kind === 'tag' || !(fits(given, type) || isFraction)) throw mismatch(name, type, given);
    const field = this.#rows.columnFor(builder, name, dataType(type));
    if (field === undefined) {
      throw new AlmanacError('invalid_arguments', `table "${builder.table}" has too many columns`);
    }
    if (!fits(given, field.type.name)) {
      if (given !== 'Float64' || field.type.name !== 'Int64') throw mismatch(name, field.type.name, given);
      // Integers and fractions of one column are all stored as doubles, also those that the table has.
      field.type = FLOAT64;
    }
    column.field = field;
    return field;
  }

  #seriesOf(table: DocumentTable): SeriesEntry {
    const tags = this.#tags;
    const last = this.#lastSeries;
    if (last !== undefined && this.#lastTable === table && tags.equal(this.#lastNames, this.#lastValues)) return last;
    const names = [...tags.names];
    const values = tags.values();
    const series = this.#findSeries(table.name, new Map(names.map((name, i) => [name, values[i]])));
    this.#lastTable = table;
    this.#lastNames = names;
    this.#lastValues = values;
    this.#lastSeries = series;
    return series;
  }

  #findSeries(table: string, tags: ReadonlyMap<string, Buffer>): SeriesEntry {
    const { series } = this.#options;
    let key = '';
    for (const [name, value] of tags) key += `${name.length}:${name}${value.length}:${value.toString('latin1')}`;
    const known = series.find(table, key);
    if (known !== undefined) return known;
    for (const name of tags.keys()) checkColumnName(name);
    return series.add(
      table,
      key,
      [...tags].map(([name, value]) => ({ name, value })),
    );
  }

  #tableOf(name: string): DocumentTable {
    let table = this.#tables.get(name);
    if (table !== undefined) return table;
    table = { name, columns: new Map<string, DocumentColumn>() };
    const existing = this.#options.tables.find((candidate) => candidate.name === name)?.columns ?? [];
    for (const { name: column, kind, type } of existing) {
      table.columns.set(column, { table, name: column, kind, type, field: undefined });
    }
    this.#tables.set(name, table);
    return table;
  }

  #columnOfMember(table: DocumentTable, member: JsonMember): DocumentColumn {
    const last = member.column as DocumentColumn | undefined;
    if (last?.table === table) return last;
    const column = this.#columnOf(table, member.name);
    member.column = column;
    return column;
  }

  #columnOf(table: DocumentTable, name: string): DocumentColumn {
    let column = table.columns.get(name);
    if (column === undefined) {
      column = { table, name, kind: undefined, type: undefined, field: undefined };
      table.columns.set(name, column);
    }
    return column;
  }
}

function fits(given: string, type: string): boolean {
  return given === type || (given === 'Int64' && type === 'Float64') || (given === 'String' && type === 'Json');
}

function mismatch(column: string, expected: string, actual: string): AlmanacError {
  const text = `Column datatype mismatch. For column: ${column}, expected datatype: ${expected}, actual datatype: ${actual}`;
  return new AlmanacError('invalid_arguments', text);
}
