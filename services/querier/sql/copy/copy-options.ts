import { AlmanacError } from '#shared/errors/almanac-error';

import type { Cursor } from '../syntax/cursor.js';
import { parseOptions } from '../syntax/options.js';

/** Formats of files. */
export type CopyFormat = 'parquet' | 'csv' | 'json';

/** Options of a COPY statement. Texts of times are interpreted when it runs. */
export interface CopyOptions {
  readonly format: CopyFormat;
  /** Undefined: none when writing, and as the file's name says when reading. */
  readonly compression: 'gzip' | 'zstd' | undefined;
  readonly startTime: string | undefined;
  readonly endTime: string | undefined;
  /** Regular expression that a part of a file's name matches. */
  readonly pattern: string | undefined;
  /** Of CSV: whether the first line has names of columns. */
  readonly hasHeaders: boolean;
  /** Of CSV: whether those names must be exactly the table's columns, in their order. */
  readonly isStrict: boolean;
  readonly skipsBadRecords: boolean;
  readonly delimiter: string;
  /** Formats of CSV and JSON, with specifiers such as %Y. */
  readonly timestampFormat: string | undefined;
  readonly dateFormat: string | undefined;
  readonly timeFormat: string | undefined;
}

/** Kinds of COPY statements, which allow different options. */
export type CopyKind = 'to' | 'from' | 'database';

const COMMON = ['format', 'start_time', 'end_time', 'compression_type'];
const TEXT_FORMATS = ['timestamp_format', 'date_format', 'time_format', 'delimiter'];
const ALLOWED: Readonly<Record<CopyKind, readonly string[]>> = {
  to: [...COMMON, ...TEXT_FORMATS, 'headers', 'schema_infer_max_record'],
  from: [
    ...COMMON,
    ...TEXT_FORMATS,
    ...['headers', 'pattern', 'skip_bad_records', 'strict_headers', 'schema_infer_max_record', 'continue_on_error'],
  ],
  database: [...COMMON, ...TEXT_FORMATS, 'headers', 'parallelism', 'continue_on_error'],
};
const TEXT_LENGTH_MAX = 1_000;
const PARALLELISM_MAX = 1_024;

/** Parses `[WITH (..)] [CONNECTION (..)]`. @throws `invalid_arguments`, `unsupported`. */
export function parseCopyOptions(cursor: Cursor, kind: CopyKind): CopyOptions {
  const given: Partial<Record<string, string>> = {};
  if (cursor.accept('WITH')) {
    parseOptions(cursor, (key, value) => {
      const name = key.toLowerCase();
      if (!ALLOWED[kind].includes(name)) {
        const text = `unknown option "${key.slice(0, 100)}" of COPY: use one of ${ALLOWED[kind].join(', ')}`;
        throw new AlmanacError('invalid_arguments', text);
      }
      if (value.length > TEXT_LENGTH_MAX) throw invalid(name, value, `at most ${TEXT_LENGTH_MAX} characters`);
      given[name] = value;
      return value;
    });
  }
  if (cursor.accept('CONNECTION')) {
    const options = parseOptions(cursor, (_key, value) => value);
    if (Object.keys(options).length > 0) {
      throw new AlmanacError('unsupported', 'Not supported: CONNECTION of COPY: only local files can be named');
    }
  }
  for (const name of ['parallelism', 'schema_infer_max_record']) checkCount(name, given[name]);
  flagOf(given, 'continue_on_error', false);
  return optionsOf(given);
}

function optionsOf(given: Readonly<Partial<Record<string, string>>>): CopyOptions {
  const format = formatOf(given['format']);
  const texts = {
    timestampFormat: given['timestamp_format'],
    dateFormat: given['date_format'],
    timeFormat: given['time_format'],
  };
  return {
    format,
    compression: compressionOf(given['compression_type'], format),
    startTime: given['start_time'],
    endTime: given['end_time'],
    pattern: given['pattern'],
    hasHeaders: flagOf(given, 'headers', true),
    isStrict: flagOf(given, 'strict_headers', false),
    skipsBadRecords: flagOf(given, 'skip_bad_records', false),
    delimiter: delimiterOf(given['delimiter']),
    ...texts,
  };
}

function formatOf(value = 'parquet'): CopyFormat {
  const format = value.toLowerCase();
  if (format === 'parquet' || format === 'csv' || format === 'json') return format;
  if (format === 'orc') throw new AlmanacError('unsupported', 'Not supported: ORC files: use parquet, csv or json');
  throw invalid('format', value, 'parquet, csv or json');
}

function compressionOf(value: string | undefined, format: CopyFormat): CopyOptions['compression'] {
  const type = value?.toLowerCase();
  if (type === undefined || type === 'uncompressed' || type === '') return undefined;
  if (type === 'bzip2' || type === 'xz') {
    throw new AlmanacError('unsupported', `Not supported: compression_type ${type}: use gzip or zstd`);
  }
  if (type !== 'gzip' && type !== 'zstd') throw invalid('compression_type', value ?? '', 'gzip or zstd');
  if (format === 'parquet') {
    throw new AlmanacError(
      'invalid_arguments',
      'compression_type is of csv and json: parquet files are compressed inside',
    );
  }
  return type;
}

/** A single character, or the number of one. */
function delimiterOf(value = ','): string {
  const delimiter = /^\d{1,3}$/.test(value) && value.length > 1 ? String.fromCharCode(Number(value)) : value;
  const character = /^\d$/.test(value) ? String.fromCharCode(Number(value)) : delimiter;
  if (/^[\x01-\x7f]$/.test(character) && !/[\n\r"]/.test(character)) return character;
  throw invalid('delimiter', value, 'one character of ASCII, or its number');
}

function flagOf(given: Readonly<Partial<Record<string, string>>>, name: string, byDefault: boolean): boolean {
  const value = given[name]?.toLowerCase();
  if (value === undefined) return byDefault;
  if (value === 'true' || value === 'false') return value === 'true';
  throw invalid(name, value, 'true or false');
}

function checkCount(name: string, value: string | undefined): void {
  if (value === undefined) return;
  const max = name === 'parallelism' ? PARALLELISM_MAX : Number.MAX_SAFE_INTEGER;
  if (!/^\d{1,15}$/.test(value) || Number(value) < 1 || Number(value) > max) {
    throw invalid(name, value, 'a positive number');
  }
}

function invalid(name: string, value: string, allowed: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `invalid ${name} "${value.slice(0, 100)}" of COPY: use ${allowed}`);
}

/** Translates chrono's specifiers for fractions of a second to the engine's. */
export function engineTimeFormat(format: string): string {
  return format.replaceAll(
    /%\.?[369]?f/g,
    (spec) => (spec.startsWith('%.') ? '.' : '') + (spec.includes('3') ? '%g' : spec.includes('6') ? '%f' : '%n'),
  );
}
