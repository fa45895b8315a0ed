import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import type { DataType } from '#shared/schema/data-type';
import { COLUMNS_MAX } from '#shared/schema/names';

import type { FieldTypes } from '../protocol.js';

const TABLES_MAX = 10_000;
/** Columns of all tables of a request. */
const FIELDS_MAX = 65_536;
/** Values that a body of the default size limit can have at most; more are gaps. */
const CELLS_MAX = 16 * 1024 * 1024;

/** A table by its name. For the same table it should be the same object, which is found fastest. */
export interface NamedTable {
  readonly name: string;
}

/** Builders of the tables and columns of a request, within the limits of a request. */
export class RequestRows {
  readonly #batches: BatchSet;
  readonly #fieldTypes: FieldTypes | undefined;
  #fieldCount = 0;
  #table: NamedTable | undefined = undefined;
  #builder: TableBuilder | undefined = undefined;

  /** @param fieldTypes types of fields, which the first value in the request decides otherwise. */
  constructor(batches: BatchSet, fieldTypes: FieldTypes | undefined) {
    this.#batches = batches;
    this.#fieldTypes = fieldTypes;
  }

  /** @throws `invalid_arguments` if there are too many tables. */
  builderOf(table: NamedTable): TableBuilder {
    if (this.#table === table && this.#builder !== undefined) return this.#builder;
    const builder = this.#batches.table(table.name);
    if (this.#batches.tables.size > TABLES_MAX) {
      throw tooMany(`request writes to more than ${TABLES_MAX} tables`);
    }
    this.#table = table;
    this.#builder = builder;
    return builder;
  }

  /**
   * Returns the column of a name, which may have another type; undefined if the table has too many.
   *
   * @throws `invalid_arguments` if the request has too many.
   */
  columnFor(builder: TableBuilder, name: string, type: DataType): FieldBuilder | undefined {
    const typeName = this.#fieldTypes?.get(builder.table)?.get(name) ?? type.name;
    if (builder.fieldNamed(name) === undefined) {
      // One column is the time index.
      if (builder.fields.length >= COLUMNS_MAX - 1) return undefined;
      if (++this.#fieldCount > FIELDS_MAX) {
        throw tooMany(`request writes to more than ${FIELDS_MAX} columns`);
      }
    }
    return builder.field(name, typeName);
  }

  /** @throws `invalid_arguments` if rows have too many gaps. */
  checkSize(): void {
    let cells = 0;
    for (const { rowCount, fields } of this.#batches.tables.values()) cells += rowCount * fields.length;
    if (cells <= CELLS_MAX) return;
    throw tooMany(`request has ${cells} rows x columns, the limit is ${CELLS_MAX}: send fewer rows at once`);
  }
}

function tooMany(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text, { http: 413 });
}
