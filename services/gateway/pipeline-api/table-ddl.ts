import { AlmanacError } from '#shared/errors/almanac-error';

import type { CompiledPipeline } from '../pipelines/compile.js';
import type { ColumnIndex } from '../pipelines/transform/column-index.js';

const KINDS: Readonly<Record<ColumnIndex['type'], string>> = {
  inverted: 'INVERTED INDEX',
  fulltext: 'FULLTEXT INDEX',
  skipping: 'SKIPPING INDEX',
};

/** Returns the CREATE TABLE of the table that a pipeline makes. @throws `invalid_arguments` if its columns vary. */
export function tableDdl({ transform }: CompiledPipeline, table: string): string {
  if (!transform.hasFixedColumns) {
    throw new AlmanacError(
      'invalid_arguments',
      "Invalid request parameter: auto transform doesn't have fixed table schema",
    );
  }
  const columns = transform.columns.map(({ name, type, use, index }) => {
    const nullable = use === 'time' ? 'NOT NULL' : 'NULL';
    return `  ${quoted(name)} ${type.sql} ${nullable}${index === undefined ? '' : ` ${indexClause(index)}`}`;
  });
  const keys = transform.columns.filter(({ use }) => use === 'tag').map(({ name }) => quoted(name));
  const parts = [
    ...columns,
    `  TIME INDEX (${quoted(transform.time.name)})`,
    ...(keys.length === 0 ? [] : [`  PRIMARY KEY (${keys.join(', ')})`]),
  ];
  return `CREATE TABLE IF NOT EXISTS ${quoted(table)} (\n${parts.join(',\n')}\n)\nWITH(\n  append_mode = 'true'\n)`;
}

function indexClause({ type, options }: ColumnIndex): string {
  const given = Object.entries(options).map(([name, value]) => `${name} = '${value}'`);
  return given.length === 0 ? KINDS[type] : `${KINDS[type]} WITH(${given.join(', ')})`;
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
