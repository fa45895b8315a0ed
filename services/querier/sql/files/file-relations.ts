import { quoteText } from '#shared/duckdb/quote';
import type { ConfinedFile } from '#shared/fs/confined-folder';

/** How files of text are read. */
export interface TextFileOptions {
  /** Of CSV: whether the first line has names of columns. */
  readonly hasHeaders: boolean;
  /** Of CSV. */
  readonly delimiter: string;
  readonly skipsBadRecords: boolean;
  /** Undefined: as the names of the files say. */
  readonly compression: 'gzip' | 'zstd' | undefined;
}

/** Largest value of JSON, in bytes; the engine reads each as a whole. */
const OBJECT_BYTES_MAX = 16 * 1024 * 1024;

/** Returns how the text files of external tables are read. */
export function textOptions(delimiter = ','): TextFileOptions {
  return { hasHeaders: true, delimiter, skipsBadRecords: false, compression: undefined };
}

/** Returns the rows of Parquet files; columns are matched by name. */
export function parquetRelation(files: readonly ConfinedFile[]): string {
  return `read_parquet(${pathsOf(files)}, union_by_name = true)`;
}

/**
 * Returns the rows of CSV files; columns are matched by name. A quoted text without characters is a text, unlike nothing between
 * two delimiters.
 *
 * @param infersTypes whether the engine infers types; otherwise every value is a text.
 */
export function csvRelation(files: readonly ConfinedFile[], options: TextFileOptions, infersTypes = false): string {
  const settings = [
    pathsOf(files),
    'union_by_name = true',
    `all_varchar = ${!infersTypes}`,
    `header = ${options.hasHeaders}`,
    `delim = ${quoteText(options.delimiter)}`,
    `quote = '"'`,
    `escape = '"'`,
    `nullstr = ''`,
    'allow_quoted_nulls = false',
    `ignore_errors = ${options.skipsBadRecords}`,
    `compression = ${quoteText(options.compression ?? 'auto')}`,
  ];
  return `read_csv(${settings.join(', ')})`;
}

/**
 * Returns the rows of JSON files.
 *
 * @param names members to read, each as a text; undefined: all, with the types that the engine infers.
 */
export function jsonRelation(
  files: readonly ConfinedFile[],
  options: TextFileOptions,
  names: readonly string[] | undefined,
): string {
  if (names === undefined) return `read_json(${jsonSettings(files, options)}, union_by_name = true)`;
  const types = names.map((name) => `${quoteText(name)}: 'VARCHAR'`).join(', ');
  return `read_json(${jsonSettings(files, options)}, columns = {${types}})`;
}

/** Returns the objects of JSON files as they are, in one column `json`. */
export function jsonObjects(files: readonly ConfinedFile[], options: TextFileOptions): string {
  return `read_json_objects(${jsonSettings(files, options)})`;
}

function jsonSettings(files: readonly ConfinedFile[], options: TextFileOptions): string {
  const settings = [
    pathsOf(files),
    `format = 'auto'`,
    `maximum_object_size = ${OBJECT_BYTES_MAX}`,
    `ignore_errors = ${options.skipsBadRecords}`,
    `compression = ${quoteText(options.compression ?? 'auto_detect')}`,
  ];
  return settings.join(', ');
}

function pathsOf(files: readonly ConfinedFile[]): string {
  return `[${files.map(({ path }) => quoteText(path)).join(', ')}]`;
}
