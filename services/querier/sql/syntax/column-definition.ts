import type { ColumnIndex } from '#shared/contracts/gen/common';
import type { ColumnSpec } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { INDEX_OPTIONS, indexOptions, indexOptionValue, type IndexKind } from '#shared/schema/column-indexes';
import { dataType, dataTypeFromSql } from '#shared/schema/data-type';
import { json2Name } from '#shared/schema/json-hints';
import type { Zone } from '#shared/time/zone';

import { Cursor } from './cursor.js';
import { defaultSql } from './defaults.js';
import { parseJsonHints } from './json-hints.js';
import { Kind } from './lex.js';

/** A column as CREATE TABLE defines it; its kind is known once all constraints are parsed. */
export interface ColumnDefinition {
  readonly spec: Omit<ColumnSpec, 'kind' | 'defaultSql'> & { readonly nullGiven: boolean };
  /** Token range of the DEFAULT expression. */
  readonly defaultRange: { readonly from: number; readonly to: number } | undefined;
  readonly isTimeIndex: boolean;
  readonly isPrimaryKey: boolean;
}

/** Parses `name TYPE [options]`. @throws `invalid_syntax`, `invalid_arguments`. */
export function parseColumn(cursor: Cursor): ColumnDefinition {
  if (cursor.tokens.kind(cursor.at) === Kind.word && RESERVED.has(cursor.tokens.raw(cursor.at).toUpperCase())) {
    throw new AlmanacError(
      'invalid_syntax',
      `Invalid SQL syntax: Cannot use keyword '${cursor.tokens.raw(cursor.at)}' as column name. Hint: add quotes to the name.`,
    );
  }
  const name = cursor.name('column name');
  const type = parseType(cursor);
  return { ...parseColumnOptions(cursor, name, type) };
}

/** Words that must be quoted as column names. */
const RESERVED = new Set(
  (
    'ALL AND AS BETWEEN BY CASE CREATE CROSS DELETE DESC DISTINCT DROP ELSE END EXCEPT EXISTS FALSE FROM FULL GROUP HAVING IN INNER INSERT INTERSECT ' +
    'INTO IS JOIN LEFT LIKE LIMIT NATURAL NOT NULL ON OR ORDER OUTER RIGHT SELECT SET TABLE THEN TRUE UNION UPDATE USING VALUES WHEN WHERE WITH'
  ).split(' '),
);

/** Parses a type and returns its native name. */
export function parseType(cursor: Cursor): string {
  const at = cursor.at;
  let name = cursor.name('data type').toUpperCase();
  if (name === 'JSON2' && cursor.acceptSymbol('(')) return json2Name(parseJsonHints(cursor, parseType));
  const args: number[] = [];
  if (cursor.acceptSymbol('(')) {
    args.push(cursor.integer('number'));
    if (cursor.acceptSymbol(',')) args.push(cursor.integer('number'));
    cursor.expectSymbol(')');
  }
  if (cursor.accept('UNSIGNED')) name += ' UNSIGNED';
  if (name === 'DOUBLE') cursor.accept('PRECISION');
  const type = dataTypeFromSql(name, args);
  if (type !== undefined) return type.name;
  const text = cursor.tokens.source.slice(cursor.tokens.start(at), cursor.tokens.end(cursor.at - 1)).slice(0, 60);
  throw new AlmanacError('invalid_syntax', `Invalid SQL syntax: SQL data type not supported yet: ${text}`);
}

function parseColumnOptions(cursor: Cursor, name: string, type: string): ColumnDefinition {
  let nullable: boolean | undefined;
  let defaultRange: ColumnDefinition['defaultRange'];
  let isTimeIndex = false;
  let isPrimaryKey = false;
  let comment = '';
  const indexes: ColumnIndex[] = [];
  for (;;) {
    if (cursor.accept('NOT', 'NULL')) nullable = false;
    else if (cursor.accept('NULL')) nullable = nullable === false ? conflicting(name) : true;
    else if (cursor.accept('DEFAULT')) defaultRange = skipDefault(cursor);
    else if (cursor.accept('PRIMARY', 'KEY')) isPrimaryKey = true;
    else if (cursor.accept('TIME', 'INDEX')) isTimeIndex = true;
    else if (cursor.accept('COMMENT')) comment = cursor.text('comment', true);
    else if (!acceptIndex(cursor, { name, type }, indexes)) break;
  }
  if (isTimeIndex && nullable === true) throw columnOption(name, "time index column can't be null");
  const spec = {
    name,
    type,
    nullable: isTimeIndex ? false : (nullable ?? true),
    comment,
    indexes,
    nullGiven: nullable === true,
  };
  return { spec, defaultRange, isTimeIndex, isPrimaryKey };
}

function conflicting(name: string): never {
  throw columnOption(name, 'NULL and NOT NULL are both given');
}

const AFTER_DEFAULT = ['NOT', 'NULL', 'PRIMARY', 'TIME', 'COMMENT', 'SKIPPING', 'FULLTEXT', 'INVERTED', 'VECTOR'];

function skipDefault(cursor: Cursor): { from: number; to: number } {
  const from = cursor.at;
  let depth = 0;
  for (; !cursor.done; cursor.at++) {
    const isFirst = cursor.at === from;
    if (depth === 0 && !isFirst && AFTER_DEFAULT.some((word) => cursor.sees(word))) break;
    if (depth === 0 && (cursor.seesSymbol(',') || cursor.seesSymbol(')'))) break;
    if (cursor.seesSymbol('(')) depth++;
    if (cursor.seesSymbol(')')) depth--;
  }
  if (cursor.at === from) throw cursor.unexpected('default value');
  return { from, to: cursor.at };
}

/** A column that an index is defined for. */
interface IndexedColumn {
  readonly name: string;
  /** Native type name. */
  readonly type: string;
}

/** Parses `SKIPPING INDEX WITH (..)` and the like, if one follows, and adds it to the others. */
function acceptIndex(cursor: Cursor, column: IndexedColumn, indexes: ColumnIndex[]): boolean {
  const index = parseIndex(cursor, column);
  if (index === undefined) return false;
  if (indexes.some(({ kind }) => kind === index.kind)) {
    throw columnOption(column.name, `duplicated ${index.kind} index option`);
  }
  indexes.push(index);
  return true;
}

/** Parses `FULLTEXT INDEX WITH (..)` and the like; returns undefined where no index begins. */
export function parseIndex(cursor: Cursor, { name: column, type }: IndexedColumn): ColumnIndex | undefined {
  const kind = (Object.keys(INDEX_OPTIONS) as IndexKind[]).find((word) => cursor.accept(word));
  if (kind === undefined) return undefined;
  if (!cursor.accept('INDEX')) throw columnOption(column, `expect INDEX after ${kind} keyword`);
  if (kind === 'FULLTEXT' && type !== 'String') throw columnOption(column, 'FULLTEXT index only supports string type');
  if (!cursor.accept('WITH')) return { kind, options: indexOptions(kind, {}) };
  if (kind === 'INVERTED') throw columnOption(column, "INVERTED index doesn't support options");
  const given: Record<string, string> = {};
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    const key = cursor.tokens.kind(cursor.at) === Kind.text ? cursor.text('option') : cursor.name('option');
    if (!Object.hasOwn(INDEX_OPTIONS[kind], key)) {
      throw columnOption(column, `invalid ${kind} INDEX option: ${key.slice(0, 60)}`);
    }
    cursor.expectSymbol('=');
    if (cursor.done || cursor.seesSymbol(')')) throw cursor.unexpected('value');
    const text =
      cursor.tokens.kind(cursor.at) === Kind.text ? cursor.tokens.textValue(cursor.at) : cursor.tokens.raw(cursor.at);
    cursor.at++;
    const value = indexOptionValue(key, text);
    if (value === undefined) {
      throw columnOption(column, `invalid value of ${kind} INDEX option ${key}: ${text.slice(0, 60)}`);
    }
    given[key] = value;
    cursor.acceptSymbol(',');
  }
  return { kind, options: indexOptions(kind, given) };
}

/** Completes a column definition with its kind. */
export function columnSpec(definition: ColumnDefinition, kind: string, cursor: Cursor, zone: Zone): ColumnSpec {
  const { name, type, nullable, comment, indexes, nullGiven } = definition.spec;
  if (kind === 'time') {
    if (dataType(type).timeUnit === undefined) {
      throw columnOption(name, 'time index column data type should be timestamp');
    }
    if (nullGiven) throw columnOption(name, "time index column can't be null");
  }
  const range = definition.defaultRange;
  const byDefault =
    range === undefined ? '' : defaultSql({ name, type }, new Cursor(cursor.tokens, range.from, range.to), zone);
  return { name, type, kind, nullable: kind === 'time' ? false : nullable, defaultSql: byDefault, comment, indexes };
}

/** Creates the error for an invalid column option. */
export function columnOption(column: string, error: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid column option, column name: ${column}, error: ${error}`);
}
