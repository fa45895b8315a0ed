import { AlmanacError } from '#shared/errors/almanac-error';
import { isReservedColumn } from './segment-columns.js';

/** Largest length of a database, table or column name, in bytes of UTF-8. */
export const NAME_BYTES_MAX = 255;
/** Largest number of columns of a table. */
export const COLUMNS_MAX = 4096;

const DATABASE_NAME = /^[A-Za-z_:-][A-Za-z0-9_:\-.@#]*$/;

const CONTROL = /[\u0000-\u001f\u007f]/;

/** Validates a database name. @throws `unexpected` if it is not allowed. */
export function checkDatabaseName(name: string): void {
  if (!DATABASE_NAME.test(name) || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw new AlmanacError('unexpected', `Unexpected, violated: Invalid database name: ${printable(name)}`, {
      http: 400,
    });
  }
}

/** Validates a table name: any UTF-8 without control characters. @throws `invalid_arguments`. */
export function checkTableName(name: string): void {
  if (name === '' || CONTROL.test(name) || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw new AlmanacError('invalid_arguments', `Invalid table name: ${printable(name)}`);
  }
}

/** Validates a column name. @throws `invalid_arguments` if it is not allowed. */
export function checkColumnName(name: string): void {
  if (name === '' || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    const text = `invalid column name "${printable(name)}": it must have 1 to ${NAME_BYTES_MAX} bytes`;
    throw new AlmanacError('invalid_arguments', text);
  }
  if (isReservedColumn(name)) throw new AlmanacError('invalid_arguments', `column name "${name}" is reserved`);
}

/** Shortens a name for a message: no control characters, at most 80 characters. */
function printable(name: string): string {
  const clean = name.replaceAll(new RegExp(CONTROL, 'g'), '?');
  return clean.length > 80 ? `${clean.slice(0, 80)}..` : clean;
}
