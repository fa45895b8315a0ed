import { createHash } from 'node:crypto';

import { LRUCache } from 'lru-cache';
import { RE2JS, type Matcher } from 're2js';

import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';

const HASHES: ReadonlySet<string> = new Set(['md5', 'sha224', 'sha256', 'sha384', 'sha512']);
const patterns = new LRUCache<string, RE2JS>({ max: 200 });

/** Functions of texts that the engine lacks. */
export const TEXT_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'almanac_digest',
    parameters: ['binary', 'text'],
    returns: 'binary',
    compute: (bytes, algorithm) => digest(bytes as Uint8Array, (algorithm as string).toLowerCase()),
  },
  {
    name: 'almanac_regexp_match',
    parameters: ['text', 'text', 'text'],
    returns: 'text[]',
    compute: (text, pattern, flags) => groupsOf(matcher(text as string, pattern as string, flags as string)),
  },
  {
    name: 'almanac_regexp_instr',
    parameters: ['text', 'text', 'text'],
    returns: 'int',
    compute: (text, pattern, flags) => positionOf(text as string, pattern as string, flags as string),
  },
];

function digest(bytes: Uint8Array, algorithm: string): Uint8Array {
  if (HASHES.has(algorithm)) return createHash(algorithm).update(bytes).digest();
  throw new AlmanacError(
    'execute_query',
    `unsupported digest '${algorithm.slice(0, 60)}': use ${[...HASHES].join(', ')}`,
  );
}

function matcher(text: string, pattern: string, flags: string): Matcher {
  const key = `${flags}/${pattern}`;
  let compiled = patterns.get(key);
  if (compiled === undefined) {
    compiled = compile(pattern, flags);
    patterns.set(key, compiled);
  }
  return compiled.matcher(text);
}

const FLAGS: Readonly<Partial<Record<string, number>>> = {
  i: RE2JS.CASE_INSENSITIVE,
  s: RE2JS.DOTALL,
  m: RE2JS.MULTILINE,
};

function compile(pattern: string, flags: string): RE2JS {
  let bits = 0;
  for (const flag of flags) {
    const bit = FLAGS[flag];
    if (bit === undefined) throw new AlmanacError('execute_query', `unknown flag '${flag}' of a regular expression`);
    bits |= bit;
  }
  try {
    return RE2JS.compile(pattern, bits);
  } catch (error) {
    const text = `invalid regular expression '${pattern.slice(0, 100)}': ${(error as Error).message}`;
    throw new AlmanacError('execute_query', text, { cause: error });
  }
}

/** Returns the groups of the first match, or the match if the expression has no groups. */
function groupsOf(match: Matcher): (string | null)[] | null {
  if (!match.find()) return null;
  const count = match.groupCount();
  if (count === 0) return [match.group() ?? ''];
  return Array.from({ length: count }, (_, i) => match.group(i + 1));
}

/** Returns the position of the first match in characters, from 1; 0 without a match. */
function positionOf(text: string, pattern: string, flags: string): bigint {
  const match = matcher(text, pattern, flags);
  return match.find() ? BigInt(Array.from(text.slice(0, match.start())).length + 1) : 0n;
}
