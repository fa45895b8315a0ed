import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteName } from '#shared/duckdb/quote';
import type { ConfinedFile } from '#shared/fs/confined-folder';
import { columnTypeOf } from '#shared/schema/data-type';

import { isDeclarable } from './declared-value.js';
import { csvRelation, jsonRelation, parquetRelation, textOptions } from './file-relations.js';
import type { ExternalFormat } from './external-files.js';

/** Rows that inferred types are checked with; the engine infers types from as many. */
const SAMPLE_ROWS = 20_480;
const WHOLE_TYPES = ['UInt64', 'Decimal(20, 0)'];

/** A column of files, with the name of a native type. */
export interface InferredColumn {
  readonly name: string;
  readonly type: string;
}

/** Returns the columns of files. A type that the texts of a file cannot be converted to is a text instead. */
export async function inferredColumns(
  connection: QueryConnection,
  format: ExternalFormat,
  files: readonly ConfinedFile[],
  delimiter: string | undefined,
  signal: AbortSignal,
): Promise<InferredColumn[]> {
  const options = textOptions(delimiter);
  if (format === 'parquet') {
    const found = await connection.describe(`SELECT * FROM ${parquetRelation(files)}`);
    return found.map(({ name, type }) => ({ name, type: columnTypeOf(type.name) }));
  }
  const inferred = format === 'csv' ? csvRelation(files, options, true) : jsonRelation(files, options, undefined);
  const found = await connection.describe(`SELECT * FROM ${inferred}`);
  const names = found.map(({ name }) => name);
  const texts = format === 'csv' ? csvRelation(files, options) : jsonRelation(files, options, names);
  // Some whole numbers of JSON exceed 64 bits with a sign, and the engine gives those one type with the negative ones.
  const candidates = found.map(({ name, type }) => {
    const native = columnTypeOf(type.name);
    return { name, types: native === 'Int64' ? [native, ...WHOLE_TYPES] : native === 'String' ? [] : [native] };
  });
  const checks = candidates.flatMap(({ name, types }) =>
    types.map((type) => `coalesce(bool_and(${isDeclarable({ name, type }, quoteName(name))}), true)`),
  );
  if (checks.length === 0) return names.map((name) => ({ name, type: 'String' }));
  const sql = `SELECT ${checks.join(', ')} FROM (SELECT * FROM ${texts} LIMIT ${SAMPLE_ROWS})`;
  const [block] = (await connection.run(sql, signal)).blocks();
  let at = 0;
  return candidates.map(({ name, types }) => {
    const fits = types.filter(() => block.cells(at++)[0] === true);
    return { name, type: fits[0] ?? 'String' };
  });
}
