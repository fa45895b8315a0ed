import type { StoredUser, UserGrant, UserToken } from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

interface UserRow {
  readonly name: string;
  readonly verifier: string;
}

interface GrantRow extends UserGrant {
  readonly user: string;
}

interface TokenRow {
  readonly user: string;
  readonly name: string;
  readonly hash: string;
  readonly created_ms: bigint;
}

interface Counts {
  readonly users: bigint;
  readonly grants: bigint;
  readonly tokens: bigint;
}

/** SQL of the `users`, `user_grants` and `user_tokens` tables. */
export class UserStore {
  readonly #all;
  readonly #find;
  readonly #allGrants;
  readonly #grantsOf;
  readonly #allTokens;
  readonly #tokensOf;
  readonly #counts;
  readonly #insert;
  readonly #setVerifier;
  readonly #delete;
  readonly #putGrant;
  readonly #deleteGrant;
  readonly #byHash;
  readonly #insertToken;
  readonly #deleteToken;

  constructor(connection: CatalogConnection) {
    this.#all = connection.prepare<[], UserRow>('SELECT name, verifier FROM users ORDER BY name');
    this.#find = connection.prepare<[string], UserRow>('SELECT name, verifier FROM users WHERE name = ?');
    this.#allGrants = connection.prepare<[], GrantRow>('SELECT * FROM user_grants ORDER BY user, database');
    this.#grantsOf = connection.prepare<[string], GrantRow>(
      'SELECT * FROM user_grants WHERE user = ? ORDER BY database',
    );
    this.#allTokens = connection.prepare<[], TokenRow>('SELECT * FROM user_tokens ORDER BY user, name');
    this.#tokensOf = connection.prepare<[string], TokenRow>('SELECT * FROM user_tokens WHERE user = ? ORDER BY name');
    this.#counts = connection.prepare<[], Counts>(
      `SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM user_grants) AS grants,
         (SELECT count(*) FROM user_tokens) AS tokens`,
    );
    this.#insert = connection.prepare<[string, string, number]>('INSERT INTO users VALUES (?, ?, ?)');
    this.#setVerifier = connection.prepare<[string, string]>('UPDATE users SET verifier = ? WHERE name = ?');
    this.#delete = connection.prepare<[string]>('DELETE FROM users WHERE name = ?');
    this.#putGrant = connection.prepare<[string, string, string]>(
      'INSERT INTO user_grants VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET mode = excluded.mode',
    );
    this.#deleteGrant = connection.prepare<[string, string]>('DELETE FROM user_grants WHERE user = ? AND database = ?');
    this.#byHash = connection.prepare<[string], TokenRow>('SELECT * FROM user_tokens WHERE hash = ?');
    this.#insertToken = connection.prepare<[string, string, string, number]>(
      'INSERT INTO user_tokens VALUES (?, ?, ?, ?)',
    );
    this.#deleteToken = connection.prepare<[string, string]>('DELETE FROM user_tokens WHERE user = ? AND name = ?');
  }

  find(name: string): StoredUser | undefined {
    const row = this.#find.get(name);
    return (
      row && { ...row, grants: this.#grantsOf.all(name).map(grantOf), tokens: this.#tokensOf.all(name).map(tokenOf) }
    );
  }

  /** Returns all users, by name. */
  list(): StoredUser[] {
    const grants = groupedByUser(this.#allGrants.all(), grantOf);
    const tokens = groupedByUser(this.#allTokens.all(), tokenOf);
    return this.#all.all().map((row) => {
      return { ...row, grants: grants.get(row.name) ?? [], tokens: tokens.get(row.name) ?? [] };
    });
  }

  /** Returns the number of rows of each table. */
  counts(): { readonly users: number; readonly grants: number; readonly tokens: number } {
    const { users = 0n, grants = 0n, tokens = 0n } = this.#counts.get() ?? {};
    return { users: Number(users), grants: Number(grants), tokens: Number(tokens) };
  }

  insert(name: string, verifier: string, nowMs: number): void {
    this.#insert.run(name, verifier, nowMs);
  }

  setVerifier(name: string, verifier: string): void {
    this.#setVerifier.run(verifier, name);
  }

  /** Deletes a user with its grants and tokens. */
  delete(name: string): void {
    this.#delete.run(name);
  }

  putGrant(user: string, { database, mode }: UserGrant): void {
    this.#putGrant.run(user, database, mode);
  }

  deleteGrant(user: string, database: string): void {
    this.#deleteGrant.run(user, database);
  }

  /** Whether a token of any user has this hash. */
  hasToken(hash: string): boolean {
    return this.#byHash.get(hash) !== undefined;
  }

  insertToken(user: string, { name, hash, createdMs }: UserToken): void {
    this.#insertToken.run(user, name, hash, createdMs);
  }

  deleteToken(user: string, name: string): void {
    this.#deleteToken.run(user, name);
  }
}

function grantOf({ database, mode }: GrantRow): UserGrant {
  return { database, mode };
}

function tokenOf({ name, hash, created_ms }: TokenRow): UserToken {
  return { name, hash, createdMs: Number(created_ms) };
}

function groupedByUser<Row extends { readonly user: string }, T>(
  rows: readonly Row[],
  valueOf: (row: Row) => T,
): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(row.user);
    if (group === undefined) groups.set(row.user, [valueOf(row)]);
    else group.push(valueOf(row));
  }
  return groups;
}
