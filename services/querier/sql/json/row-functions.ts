import { LRUCache } from 'lru-cache';

import type { Cell } from '#shared/duckdb/chunk-reader';
import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';

import { findJson, matchesJson } from './evaluate-path.js';
import { parseJsonPath, parseJsonPredicate } from './path.js';
import { sortedJson } from './sorted-text.js';

/** Paths are parsed once for all rows of a query. */
const paths = new LRUCache<string, ReturnType<typeof parseJsonPath>>({ max: 1000 });
const predicates = new LRUCache<string, { readonly of: ReturnType<typeof parseJsonPredicate> }>({ max: 1000 });

/** Functions of JSON values that the engine's own cannot compute. */
export const JSON_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'almanac_json_path',
    parameters: ['text', 'text'],
    returns: 'text',
    compute(json, path) {
      const [found] = find(json, path);
      return found === undefined ? null : JSON.stringify(found);
    },
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
    compute(json, text) {
      const value = parsed(json as string);
      if (value === null || (text as string).trim() === 'null') return null;
      const predicate = predicateOf(text as string);
      return predicate === undefined ? null : matchesJson(value, predicate);
    },
  },
  {
    name: 'almanac_json_sorted',
    parameters: ['text'],
    returns: 'text',
    compute: (json) => sortedJson(json as string),
  },
];

function find(json: Cell, path: Cell): readonly unknown[] {
  let steps = paths.get(path as string);
  if (steps === undefined) {
    steps = parseJsonPath(path as string);
    paths.set(path as string, steps);
  }
  return findJson(parsed(json as string), steps);
}

function predicateOf(text: string): ReturnType<typeof parseJsonPredicate> {
  const known = predicates.get(text);
  if (known !== undefined) return known.of;
  const predicate = parseJsonPredicate(text);
  predicates.set(text, { of: predicate });
  return predicate;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new AlmanacError('execute_query', `cannot parse '${json.slice(0, 100)}' as JSON`, { cause: error });
  }
}
