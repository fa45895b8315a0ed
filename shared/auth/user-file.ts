import type { Grant, Mode } from '#shared/contracts/rights';

import { parseVerifier, type Verifier } from './password.js';

/** A user, as a provider knows it. */
export interface User {
  readonly name: string;
  readonly verifier: Verifier;
  readonly grants: readonly Grant[];
  /** Whether SQL manages the user. */
  readonly isStored?: boolean;
}

/** The users of a text. */
export interface ParsedUsers {
  readonly users: ReadonlyMap<string, User>;
  /** Numbers of malformed lines, from 1. */
  readonly malformed: readonly number[];
}

const WORDS: Readonly<Record<string, Mode>> = {
  rw: 'read_write',
  readwrite: 'read_write',
  read_write: 'read_write',
  ro: 'read',
  readonly: 'read',
  read_only: 'read',
  wo: 'write',
  writeonly: 'write',
  write_only: 'write',
  admin: 'admin',
};

/**
 * Parses lines of `name[:mode][@database|database]=password` (spec: http-query-admin 9.2). Of two users with one name the last
 * counts. If no user is an administrator, everyone who may read and write everything is one; not if a line is malformed, which may
 * be that of the administrator.
 */
export function parseUsers(text: string): ParsedUsers {
  const users = new Map<string, User>();
  const malformed: number[] = [];
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const user = userOf(line);
    if (user === undefined) malformed.push(i + 1);
    else users.set(user.name, user);
  }
  return { users: malformed.length === 0 ? withAdmin(users) : users, malformed };
}

/** Parses the users of a configuration value, `name=password,name=password`. */
export function parseInlineUsers(text: string): ParsedUsers {
  return parseUsers(text.split(',').join('\n'));
}

function userOf(line: string): User | undefined {
  const at = line.indexOf('=');
  const [, name, word = 'rw', databases] = /^([^:@=]+)(?::([A-Za-z_]+))?(?:@(.*))?$/.exec(line.slice(0, at)) ?? [];
  const mode = Object.hasOwn(WORDS, word.toLowerCase()) ? WORDS[word.toLowerCase()] : undefined;
  const password = line.slice(at + 1);
  if (at < 0 || name === undefined || mode === undefined || password === '') return undefined;
  const names = databases === undefined ? [''] : databases.split('|').map((it) => it.trim());
  if (databases !== undefined && names.includes('')) return undefined;
  try {
    const grants = names.map((database): Grant => ({ database, mode }));
    return { name: name.trim(), verifier: parseVerifier(password), grants };
  } catch {
    return undefined;
  }
}

function withAdmin(users: ReadonlyMap<string, User>): ReadonlyMap<string, User> {
  if ([...users.values()].some(({ grants }) => grants.some(({ mode }) => mode === 'admin'))) return users;
  return new Map(
    Array.from(users, ([name, user]) => {
      const grants = user.grants.map((grant): Grant => {
        return grant.database === '' && grant.mode === 'read_write' ? { ...grant, mode: 'admin' } : grant;
      });
      return [name, { ...user, grants }];
    }),
  );
}
