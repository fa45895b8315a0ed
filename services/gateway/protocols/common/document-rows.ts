import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet, SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { dataType } from '#shared/schema/data-type';
import { checkColumnName } from '#shared/schema/names';

import { isJsonObject, stringifyJson, type JsonObject, type JsonValue } from './json.js';
import { RequestRows } from './request-rows.js';
import type { TagSeriesCache } from './tag-series.js';

/** Objects inside each other that become columns; what is deeper is stored as JSON. */
const LEVELS_MAX = 10;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

const FLOAT64 = dataType('Float64');

/** Dependencies of the rows of one request. */
export interface DocumentRowsOptions {
  /** The existing tables of the database: the types of their columns decide. */
  readonly tables: readonly Table[];
  readonly series: TagSeriesCache;
}

/** A value in the type that a new column would have. */
interface TypedValue {
  readonly type: 'Boolean' | 'Int64' | 'Float64' | 'String';
  readonly value: boolean | number | bigint | string;
}

/** What is known of a table before the request. */
interface TableColumns {
  readonly name: string;
  readonly kinds: ReadonlyMap<string, { readonly kind: string; readonly type: string }>;
}

/** Stores JSON documents as rows with a column for each value: names of nested members are joined with dots. */
export class DocumentRows {
  readonly #rows: RequestRows;
  readonly #options: DocumentRowsOptions;
  readonly #known = new Map<string, TableColumns>();
  readonly #tags = new Map<string, string>();
  readonly #fields = new Map<string, TypedValue>();

  constructor(batches: BatchSet, options: DocumentRowsOptions) {
    this.#rows = new RequestRows(batches, undefined);
    this.#options = options;
  }

  /** Adds a tag to the next row; an empty value is left out. */
  tag(name: string, value: string): void {
    if (value !== '') this.#tags.set(name, value);
  }

  /** Adds a value to the next row: objects as a column for each member, lists as JSON, null not at all. */
  value(name: string, value: JsonValue, level = 1): void {
    if (value === null) return;
    if (isJsonObject(value) && level <= LEVELS_MAX) {
      for (const [member, inner] of Object.entries(value)) this.value(`${name}.${member}`, inner, level + 1);
    } else {
      this.#fields.set(name, typedValue(value));
    }
  }

  /** Adds the members of a document to the next row. */
  members(document: JsonObject): void {
    for (const [name, value] of Object.entries(document)) this.value(name, value, 2);
  }

  /** Discards what was added to the next row. */
  clear(): void {
    this.#tags.clear();
    this.#fields.clear();
  }

  /**
   * Ends the row with its time in nanoseconds.
   *
   * @throws `invalid_arguments` for names that are not allowed, too many tables or columns, and values that do not fit the
   *   type of their column; then the row is discarded.
   */
  end(table: string, time: bigint): void {
    const columns = this.#columnsOf(table);
    const builder = this.#rows.builderOf(columns);
    for (const [name, { kind }] of columns.kinds) {
      const field = kind === 'tag' ? this.#fields.get(name) : undefined;
      if (field === undefined) continue;
      this.#fields.delete(name);
      this.tag(name, String(field.value));
    }
    for (const [name, value] of this.#tags) {
      if (columns.kinds.get(name)?.kind !== 'field') continue;
      this.#tags.delete(name);
      this.#fields.set(name, { type: 'String', value });
    }
    const row = builder.rowCount;
    builder.startRow(this.#seriesOf(table));
    try {
      for (const [name, field] of this.#fields) this.#setField(builder, columns, row, name, field);
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

  #setField(builder: TableBuilder, columns: TableColumns, row: number, name: string, given: TypedValue): void {
    const existing = columns.kinds.get(name);
    if (builder.fieldNamed(name) === undefined) checkColumnName(name);
    const type = existing === undefined ? given.type : existing.type;
    if (existing?.kind === 'time' || !fits(given.type, type)) throw mismatch(name, type, given.type);
    const field = this.#rows.columnFor(builder, name, dataType(type));
    if (field === undefined) {
      throw new AlmanacError('invalid_arguments', `table "${builder.table}" has too many columns`);
    }
    if (!fits(given.type, field.type.name)) {
      // Integers and fractions of one new column are all stored as doubles.
      if (existing !== undefined || given.type !== 'Float64' || field.type.name !== 'Int64') {
        throw mismatch(name, field.type.name, given.type);
      }
      field.type = FLOAT64;
    }
    setValue(field, row, given.value);
  }

  #seriesOf(table: string): SeriesEntry {
    const { series } = this.#options;
    const tags = [...this.#tags];
    const key = JSON.stringify(tags);
    const known = series.find(table, key);
    if (known !== undefined) return known;
    for (const [name] of tags) checkColumnName(name);
    return series.add(
      table,
      key,
      tags.map(([name, value]) => ({ name, value: Buffer.from(value) })),
    );
  }

  #columnsOf(name: string): TableColumns {
    let known = this.#known.get(name);
    if (known === undefined) {
      const existing = this.#options.tables.find((table) => table.name === name)?.columns ?? [];
      known = { name, kinds: new Map(existing.map((column) => [column.name, column])) };
      this.#known.set(name, known);
    }
    return known;
  }
}

function typedValue(value: JsonValue): TypedValue {
  switch (typeof value) {
    case 'boolean':
      return { type: 'Boolean', value };
    case 'string':
      return { type: 'String', value };
    case 'number':
      return { type: Number.isSafeInteger(value) ? 'Int64' : 'Float64', value };
    case 'bigint':
      return value >= INT64_MIN && value <= INT64_MAX
        ? { type: 'Int64', value }
        : { type: 'Float64', value: Number(value) };
    default:
      return { type: 'String', value: stringifyJson(value) };
  }
}

function fits(given: TypedValue['type'], type: string): boolean {
  return given === type || (given === 'Int64' && type === 'Float64') || (given === 'String' && type === 'Json');
}

function setValue(field: FieldBuilder, row: number, value: TypedValue['value']): void {
  if (typeof value === 'string') field.setText(row, value);
  else if (typeof value === 'boolean') field.setNumber(row, value ? 1 : 0);
  else if (field.type.name === 'Float64') field.setNumber(row, Number(value));
  else field.setBigInt(row, BigInt(value));
}

function mismatch(column: string, expected: string, actual: string): AlmanacError {
  const text = `Column datatype mismatch. For column: ${column}, expected datatype: ${expected}, actual datatype: ${actual}`;
  return new AlmanacError('invalid_arguments', text);
}
