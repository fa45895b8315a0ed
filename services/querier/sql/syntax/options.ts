import { AlmanacError } from '#shared/errors/almanac-error';

import type { Cursor } from './cursor.js';
import { Kind } from './lex.js';
import { isJson2 } from '#shared/schema/json-hints';
import { canonicalTtl } from '#shared/schema/ttl';

/** Validates one option and returns the value to store. @throws `invalid_arguments`. */
export type OptionRule = (key: string, value: string) => string;

/** Parses `(k = v, 'k.x' = 'v', ...)`; keys in lower case. */
export function parseOptions(cursor: Cursor, rule: OptionRule): Record<string, string> {
  const options: Record<string, string> = {};
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    const key = parseKey(cursor);
    cursor.expectSymbol('=');
    options[key] = rule(key, parseValue(cursor));
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  if (options['append_mode'] === 'true' && !['', 'last_row'].includes(options['merge_mode'] ?? '')) {
    throw new AlmanacError(
      'invalid_arguments',
      'Invalid region options, only last_row merge_mode is allowed when append_mode is enabled',
    );
  }
  return options;
}

/** An option and its new value. */
export interface SetOption {
  readonly key: string;
  readonly value: string;
}

/** Parses `k = v, 'k.x' = 'v', ..`; NULL is the empty value. */
export function parseSetOptions(cursor: Cursor, rule: OptionRule): SetOption[] {
  const options: SetOption[] = [];
  do {
    const key = parseKey(cursor);
    cursor.expectSymbol('=');
    options.push({ key, value: rule(key, parseValue(cursor)) });
  } while (cursor.acceptSymbol(','));
  return options;
}

/** Parses `k, 'k.x', ..`. @param check throws for an unknown key. */
export function parseUnsetOptions(cursor: Cursor, check: (key: string) => void): string[] {
  const keys: string[] = [];
  do {
    const key = parseKey(cursor);
    check(key);
    keys.push(key);
  } while (cursor.acceptSymbol(','));
  return keys;
}

function parseKey(cursor: Cursor): string {
  if (!cursor.done && cursor.tokens.kind(cursor.at) === Kind.text) return cursor.text('option');
  let key = cursor.name('option');
  while (cursor.acceptSymbol('.')) key += `.${cursor.name('option')}`;
  return key;
}

function parseValue(cursor: Cursor): string {
  const { tokens } = cursor;
  const sign = cursor.acceptSymbol('-') ? '-' : '';
  const kind = cursor.done ? 0 : tokens.kind(cursor.at);
  if (kind === Kind.text || kind === Kind.escapeText || kind === Kind.quoted) return cursor.text('value', true);
  if (kind === Kind.integer || kind === Kind.decimal) return sign + tokens.raw(cursor.at++);
  if (cursor.accept('NULL')) return '';
  return cursor.name('value');
}

const CHOICES: Readonly<Partial<Record<string, readonly string[]>>> = {
  // Empty: the default.
  merge_mode: ['last_row', 'last_non_null', ''],
  'memtable.type': ['time_series', 'partition_tree', 'bulk'],
};
const RANGES: Readonly<Partial<Record<string, readonly [number, number]>>> = {
  regions: [1, 1024],
  max_row_group_row_count: [1, 10_485_760],
};
const COUNTS = new Set(['compaction.twcs.trigger_file_num']);
const FLAGS = new Set(['append_mode', 'skip_wal', 'compaction.override', 'compaction.twcs.fallback_to_local']);
const TABLE_KEYS = new Set(
  (
    'ttl storage memtable.type append_mode merge_mode skip_wal sst_format compaction.type compaction.override compaction.twcs.time_window ' +
    'compaction.twcs.trigger_file_num compaction.twcs.max_output_file_size compaction.twcs.fallback_to_local write_buffer_size auto_flush_interval ' +
    'max_row_group_row_count wal_options comment table_data_model regions physical_metric_table on_physical_table primary_key_encoding otlp_metric_compat'
  ).split(' '),
);
const TABLE_KEY_FAMILIES = ['memtable.', 'index.', 'greptime.semantic.', 'almanac.semantic.', 'repartition.'];
const DATABASE_KEYS = new Set(
  (
    'ttl storage memtable.type append_mode merge_mode skip_wal sst_format compaction.type compaction.twcs.time_window compaction.twcs.trigger_file_num ' +
    'compaction.twcs.max_output_file_size compaction.twcs.fallback_to_local influxdb.retention_policy'
  ).split(' '),
);

/** @throws `invalid_arguments` for a key that no table has. */
export function checkTableKey(key: string): void {
  if (!TABLE_KEYS.has(key) && !TABLE_KEY_FAMILIES.some((family) => key.startsWith(family))) {
    throw new AlmanacError('invalid_arguments', `Unrecognized table option key: ${key.slice(0, 100)}`);
  }
}

/** Validates a table option. */
export const tableOption: OptionRule = (key, value) => {
  checkTableKey(key);
  return checkedValue(key, value);
};

/** Returns whether a database has an option with this key. */
export function isDatabaseKey(key: string): boolean {
  return DATABASE_KEYS.has(key);
}

/** Validates a database option. */
export const databaseOption: OptionRule = (key, value) => {
  if (!isDatabaseKey(key)) {
    throw new AlmanacError('invalid_arguments', `Unrecognized database option key: ${key.slice(0, 100)}`);
  }
  const checked = checkedValue(key, value);
  if (key === 'ttl' && checked === 'instant') {
    throw new AlmanacError('invalid_arguments', 'instant TTL is not allowed for a database');
  }
  return checked;
};

function checkedValue(key: string, value: string): string {
  if (key === 'ttl') return canonicalTtl(value);
  if (key === 'write_buffer_size') return canonicalSize(key, value);
  const refuse = (reason: string): AlmanacError =>
    new AlmanacError('invalid_arguments', `Invalid options: ${reason}, got '${value.slice(0, 100)}'`);
  const choices = CHOICES[key];
  if (choices !== undefined && !choices.includes(value)) {
    throw refuse(
      `Matching variant not found, ${key} must be one of ${choices.filter((choice) => choice !== '').join(', ')}`,
    );
  }
  // Empty: removes the option from a table.
  if (COUNTS.has(key) && !/^\d{0,18}$/.test(value)) throw refuse(`${key} must be a whole number`);
  const range = RANGES[key];
  if (range !== undefined && !(/^\d{1,9}$/.test(value) && Number(value) >= range[0] && Number(value) <= range[1])) {
    throw refuse(`${key} must be ${range[0]} to ${range[1]}`);
  }
  if (!FLAGS.has(key)) return value;
  const flag = value.toLowerCase();
  if (flag !== 'true' && flag !== 'false') throw refuse(`${key} must be true or false`);
  return flag;
}

const SIZE_UNITS: readonly string[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Returns a size as it is shown: `1024` is `1.0KiB`. Units are powers of 1024, however they are written. */
function canonicalSize(key: string, value: string): string {
  const found = /^(\d{1,15}(?:\.\d{1,6})?)\s*(?:([KMGTP])?i?B?)$/i.exec(value.trim());
  const power = 'KMGTP'.indexOf(found?.[2]?.toUpperCase() ?? ' ') + 1;
  let size = Number(found?.[1] ?? Number.NaN) * 1024 ** power;
  if (!Number.isSafeInteger(Math.round(size))) {
    throw new AlmanacError('invalid_arguments', `Invalid options: ${key} must be a size like 128MiB, got '${value}'`);
  }
  let unit = 0;
  for (; size >= 1024 && unit < SIZE_UNITS.length - 1; unit++) size /= 1024;
  return `${unit === 0 ? Math.round(size) : size.toFixed(1)}${SIZE_UNITS[unit]}`;
}

const NAME = /^[\p{L}\p{N}_:@#.-]{1,255}$/u;
const HAS_LETTER = /[\p{L}_]/u;

/** Validates a database name. @throws `unexpected` as specified, 1002. */
export function checkDatabaseIdentifier(name: string): void {
  if (!NAME.test(name) || !HAS_LETTER.test(name)) {
    throw new AlmanacError('unexpected', `Unexpected, violated: Invalid database name: ${name.slice(0, 100)}`, {
      http: 400,
    });
  }
}

/** Validates a table name. @throws `invalid_arguments`. */
export function checkTableIdentifier(name: string): void {
  if (!NAME.test(name) || !HAS_LETTER.test(name)) {
    throw new AlmanacError('invalid_arguments', `Invalid table name: ${name.slice(0, 100)}`);
  }
}

/** Checks that the options allow the types of the columns. @throws `invalid_arguments`. */
export function checkTypes(
  columns: readonly { readonly name: string; readonly type: string }[],
  options: Readonly<Record<string, string>>,
): void {
  const column = options['append_mode'] === 'true' ? undefined : columns.find(({ type }) => isJson2(type));
  if (column === undefined) return;
  const text = `Invalid SQL, error: JSON2 column \`${column.name}\` requires append_mode='true'`;
  throw new AlmanacError('invalid_arguments', text);
}
