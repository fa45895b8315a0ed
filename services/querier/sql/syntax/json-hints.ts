import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType } from '#shared/schema/data-type';
import type { JsonHint } from '#shared/schema/json-hints';

import type { Cursor } from './cursor.js';
import { readLiteralCell } from './literal-cell.js';

const SEGMENTS_MAX = 50;
const HINTS_MAX = 1_000;

/** Types of hints. A value of one of them is a value of JSON too. */
const TYPES = /^(?:U?Int(?:8|16|32|64)|Float(?:32|64)|String|Boolean)$/;

/** Parses `path TYPE [NULL | NOT NULL] [DEFAULT v], ..)`. @param parseType reads a type and returns its native name. */
export function parseJsonHints(cursor: Cursor, parseType: (cursor: Cursor) => string): JsonHint[] {
  const hints: JsonHint[] = [];
  while (!cursor.acceptSymbol(')')) {
    hints.push(parseHint(cursor, parseType));
    if (hints.length > HINTS_MAX) throw invalid(`a JSON2 column has at most ${HINTS_MAX} type hints`);
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  checkPaths(hints);
  return hints;
}

function parseHint(cursor: Cursor, parseType: (cursor: Cursor) => string): JsonHint {
  const path = [cursor.name('path')];
  while (cursor.acceptSymbol('.')) path.push(cursor.name('path'));
  if (path.length > SEGMENTS_MAX) throw invalid(`JSON2 type hint path cannot exceed ${SEGMENTS_MAX} segments`);
  const at = cursor.at;
  const type = parseType(cursor);
  if (!TYPES.test(type)) {
    throw invalid(`unsupported JSON2 type hint data type: ${cursor.tokens.raw(at).slice(0, 60)}`);
  }
  let nullable: boolean | undefined;
  let fallback: JsonHint['fallback'] = null;
  for (;;) {
    if (cursor.accept('NOT', 'NULL')) nullable = false;
    else if (cursor.accept('NULL')) nullable ??= true;
    else if (cursor.accept('DEFAULT')) {
      fallback = parseFallback(cursor, type, path);
      if (fallback === null && nullable === false) throw nullFallback(path);
    } else break;
  }
  return { path, type, sqlType: dataType(type).sql, nullable: nullable ?? true, fallback };
}

function nullFallback(path: readonly string[]): AlmanacError {
  const text = 'Default value should not be null for non null column';
  return invalid(`invalid DEFAULT for JSON2 type hint '${path.join('.')}': ${text}`);
}

function parseFallback(cursor: Cursor, type: string, path: readonly string[]): JsonHint['fallback'] {
  const cell = readLiteralCell(cursor);
  if (cell?.kind === 'null') return null;
  const value = cell?.kind === 'bool' ? cell.value : cell?.kind === 'literal' ? cell.literal.value : undefined;
  if (value === undefined) throw cursor.unexpected('default value');
  const text = cell?.kind === 'literal' && cell.isNegative ? `-${String(value)}` : value;
  const json = type === 'String' ? JSON.stringify(text) : String(text);
  if (!isOfType(json, type)) {
    throw invalid(`invalid DEFAULT for JSON2 type hint '${path.join('.')}': no value of ${type}`);
  }
  return text;
}

/** A path cannot be a value, and lead to others. */
function checkPaths(hints: readonly JsonHint[]): void {
  const seen = new Set(hints.map(({ path }) => JSON.stringify(path)));
  if (seen.size < hints.length) throw invalid('a JSON2 type hint path is given twice');
  for (const { path } of hints) {
    for (let length = 1; length < path.length; length++) {
      const prefix = path.slice(0, length);
      if (!seen.has(JSON.stringify(prefix))) continue;
      throw invalid(`JSON2 type hint path ${prefix.join('.')} is a part of ${path.join('.')}`);
    }
  }
}

/**
 * Checks a compact JSON object against the hints of its column and adds missing defaults. Other parts stay as written.
 *
 * @throws `invalid_arguments`.
 */
export function hintedJson(text: string, hints: readonly JsonHint[]): string {
  return hints.reduce((before, hint) => withHint(before, hint, 0), text);
}

function withHint(text: string, hint: JsonHint, depth: number): string {
  const { path, type, nullable, fallback } = hint;
  const shown = path.join('.');
  if (depth === path.length) {
    if (text !== '' && text !== 'null') {
      if (isOfType(text, type)) return text;
      throw new AlmanacError(
        'invalid_arguments',
        `Invalid JSON: JSON value at ${shown} does not match JSON2 type hint ${type}`,
      );
    }
    if (fallback !== null) return type === 'String' ? JSON.stringify(fallback) : String(fallback);
    if (nullable) return text;
    throw new AlmanacError('invalid_arguments', `Invalid JSON: missing non-null JSON2 type hint path ${shown}`);
  }
  if (text !== '' && text !== 'null' && !text.startsWith('{')) {
    const parent = path.slice(0, depth).join('.');
    throw new AlmanacError(
      'invalid_arguments',
      `Invalid JSON: JSON value at ${parent} does not match JSON2 type hint ${shown}`,
    );
  }
  const members = text.startsWith('{') ? membersOf(text) : new Map<string, string>();
  const before = members.get(path[depth]) ?? '';
  const after = withHint(before, hint, depth + 1);
  if (after === before) return text;
  members.set(path[depth], after);
  return `{${[...members].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}

/** Returns the texts of the members of a compact object, by name. */
function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>();
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g;
  let depth = 0;
  let key: string | undefined;
  let start = 0;
  for (const { 0: part, index } of text.matchAll(token)) {
    if (part === '}' || part === ']') depth--;
    if (depth === 1 && key === undefined && part.startsWith('"')) {
      key = JSON.parse(part) as string;
      start = index + part.length + 1;
    } else if (key !== undefined && ((depth === 1 && part === ',') || depth === 0)) {
      members.set(key, text.slice(start, index));
      key = undefined;
    }
    if (part === '{' || part === '[') depth++;
  }
  return members;
}

/** @param json compact text of a value. */
function isOfType(json: string, type: string): boolean {
  if (type === 'String') return json.startsWith('"');
  if (type === 'Boolean') return json === 'true' || json === 'false';
  if (type.startsWith('Float')) return /^-?\d/.test(json) && Number.isFinite(Number(json));
  const { min = 0n, max = 0n } = dataType(type);
  return /^-?\d{1,20}$/.test(json) && BigInt(json) >= min && BigInt(json) <= max;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_syntax', `Invalid SQL, error: ${text}`);
}
