import type { Column } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';

import { insertShape, type InsertShape, type InsertTarget } from '../statements/rows/insert.js';
import type { StatementContext } from '../statement.js';
import type { ColumnsOfFile } from './file-sql.js';

const NAMES_LENGTH_MAX = 500;

/**
 * Returns the shape of rows with the columns that a file has.
 *
 * @throws `invalid_arguments` if the file lacks a tag, the time index, or a column that must have a value, without a default.
 */
export async function importShape(
  context: StatementContext,
  name: InsertTarget['name'],
  columns: readonly Column[],
  { matched, unknown }: ColumnsOfFile,
): Promise<InsertShape> {
  const names = columns.filter((column) => matched.has(column.name)).map((column) => column.name);
  const lacking: Column[] = [];
  const shape = await insertShape({ name, columns: names }, context, (column) => {
    lacking.push(column);
    return true;
  });
  // The rows of a metric are stored in another table; it has the labels of all series, of which a file can have a part.
  const isMetric = shape.table.name !== name.name;
  const missing = lacking.filter(({ kind, nullable }) => !nullable || kind === 'time' || (kind === 'tag' && !isMetric));
  if (missing.length === 0) return shape;
  const others = unknown.length === 0 ? '' : `, but has ${listed(unknown)}, which the table does not have`;
  const text = `it lacks ${listed(missing.map((column) => column.name))}${others}`;
  throw new AlmanacError('invalid_arguments', text);
}

function listed(names: readonly string[]): string {
  const list = names.map((name) => `"${name}"`).join(', ');
  const text = list.length > NAMES_LENGTH_MAX ? `${list.slice(0, NAMES_LENGTH_MAX)} ..` : list;
  return `the ${names.length === 1 ? 'column' : 'columns'} ${text}`;
}
