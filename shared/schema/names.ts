import { AlmanacError } from '#shared/errors/almanac-error';
import { isReservedColumn } from './segment-columns.js';

/** Longest name of a database, table or column, in bytes of UTF-8. */
export const NAME_BYTES_MAX = 255;
/** Most columns of a table. */
export const COLUMNS_MAX = 4096;

const DATABASE_NAME = /^[A-Za-z_:-][A-Za-z0-9_:\-.@#]*$/;

const CONTROL = /[\u0000-\u001f\u007f]/;

/** @throws `unexpected` if the name cannot be a database's. */
export function checkDatabaseName(name: string): void {
  if (!DATABASE_NAME.test(name) || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw new AlmanacError('unexpected', `Unexpected, violated: Invalid database name: ${printable(name)}`, {
      http: 400,
    });
  }
}

/** Tables may have any UTF-8 name without control characters. @throws `invalid_arguments`. */
export function checkTableName(name: string): void {
  if (name === '' || CONTROL.test(name) || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw new AlmanacError('invalid_arguments', `Invalid table name: ${printable(name)}`);
  }
}

/** @throws `invalid_arguments` if the name cannot be a column's. */
export function checkColumnName(name: string): void {
  if (name === '' || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    const text = `invalid column name "${printable(name)}": it must have 1 to ${NAME_BYTES_MAX} bytes`;
    throw new AlmanacError('invalid_arguments', text);
  }
  if (isReservedColumn(name)) throw new AlmanacError('invalid_arguments', `column name "${name}" is reserved`);
}

/** A name for a message: no control characters, at most 80 characters. */
function printable(name: string): string {
  const clean = name.replaceAll(new RegExp(CONTROL, 'g'), '?');
  return clean.length > 80 ? `${clean.slice(0, 80)}..` : clean;
}
