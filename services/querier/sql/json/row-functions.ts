import { LRUCache } from 'lru-cache';

import type { Cell } from '#shared/duckdb/chunk-reader';
import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';

import { findJson, matchesJson } from './evaluate-path.js';
import { parseJsonPath, parseJsonPredicate, type JsonPredicate } from './path.js';
import { sortedJson } from './sorted-text.js';

/** Paths are parsed once for all rows of a query. */
const paths = new LRUCache<string, ReturnType<typeof parseJsonPath>>({ max: 1000 });
const predicates = new LRUCache<string, JsonPredicate>({ max: 1000 });

/** Functions of JSON values that the engine's own cannot compute. */
export const JSON_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'almanac_json_path',
    parameters: ['text', 'text'],
    returns: 'text',
    compute: (json, path) => firstText(find(json, path)),
  },
  {
    name: 'almanac_json_path_exists',
    parameters: ['text', 'text'],
    returns: 'bool',
    compute: (json, path) => find(json, path).length > 0,
  },
  {
    name: 'almanac_json_path_match',
    parameters: ['text', 'text'],
    returns: 'bool',
    compute: (json, condition) => matched(parsed(json as string), condition as string),
  },
  {
    name: 'almanac_json_sorted',
    parameters: ['text'],
    returns: 'text',
    compute: (json) => sortedJson(json as string),
  },
];

function firstText(found: readonly unknown[]): string | null {
  return found.length === 0 ? null : JSON.stringify(found[0]);
}

/** A null matches nothing, and the condition `null` is neither true nor false. */
function matched(value: unknown, condition: string): boolean | null {
  if (value === null || condition.trim() === 'null') return null;
  return matchesJson(value, predicateOf(condition));
}

function find(json: Cell, path: Cell): readonly unknown[] {
  let steps = paths.get(path as string);
  if (steps === undefined) {
    steps = parseJsonPath(path as string);
    paths.set(path as string, steps);
  }
  return findJson(parsed(json as string), steps);
}

function predicateOf(text: string): JsonPredicate {
  let predicate = predicates.get(text);
  if (predicate === undefined) {
    predicate = parseJsonPredicate(text);
    predicates.set(text, predicate);
  }
  return predicate;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new AlmanacError('execute_query', `cannot parse '${json.slice(0, 100)}' as JSON`, { cause: error });
  }
}
