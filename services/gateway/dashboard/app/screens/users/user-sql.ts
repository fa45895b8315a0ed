import { quotedName, quotedText, runSql, sqlRows, type SqlOptions } from '../../data/sql.js';

/** What a user may do in a database. `ADMIN` includes the others. */
export type GrantMode = 'READ' | 'WRITE' | 'READ_WRITE' | 'ADMIN';

/** Names of all modes for people. */
export const GRANT_MODES: Readonly<Record<GrantMode, string>> = {
  READ: 'read',
  WRITE: 'write',
  READ_WRITE: 'read and write',
  ADMIN: 'administer',
};

/** A right of a user. */
export interface UserGrant {
  readonly mode: string;
  /** `*`: all databases. */
  readonly database: string;
}

/** A user in the list. */
export interface ListedUser {
  readonly name: string;
  /** The first ones of `grantCount`, if all users together have very many. */
  readonly grants: readonly UserGrant[];
  readonly grantCount: number;
  readonly tokenCount: number;
}

/** A token without its text, which the server does not know. */
export interface UserToken {
  readonly name: string;
  readonly createdMs: number;
}

/** What a user may do, and with which tokens. */
export interface UserFacts {
  readonly grants: readonly UserGrant[];
  readonly tokens: readonly UserToken[];
}

interface GrantRow {
  readonly User: string;
  readonly Mode: string;
  readonly On: string;
}

/** All databases, as `GRANT` writes them, and fields too. */
export const ALL_DATABASES = '*';
const GRANTS_READ_MAX = 20_000;
/** Users belong to no database, and that of the page may not exist. */
const IN_PUBLIC: SqlOptions = { database: 'public' };

/** Returns the users that SQL manages, by name. */
export async function listUsers(signal: AbortSignal): Promise<readonly ListedUser[]> {
  const [users, grants] = await Promise.all([
    sqlRows<{ readonly User: string; readonly Grants: bigint; readonly Tokens: bigint }>('SHOW USERS', {
      ...IN_PUBLIC,
      signal,
    }),
    sqlRows<GrantRow>('SHOW GRANTS', { ...IN_PUBLIC, signal, limit: GRANTS_READ_MAX }),
  ]);
  const grantsOf = new Map<string, UserGrant[]>();
  for (const row of grants) {
    const own = grantsOf.get(row.User);
    if (own === undefined) grantsOf.set(row.User, [grantOf(row)]);
    else own.push(grantOf(row));
  }
  return users
    .map(({ User: name, Grants: grantCount, Tokens: tokenCount }) => ({
      name,
      grants: grantsOf.get(name) ?? [],
      grantCount: Number(grantCount),
      tokenCount: Number(tokenCount),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns what a user may do. @throws RequestError, also if there is none of this name. */
export async function readUser(name: string, signal: AbortSignal): Promise<UserFacts> {
  const user = quotedName(name);
  const [grants, tokens] = await Promise.all([
    sqlRows<GrantRow>(`SHOW GRANTS FOR ${user}`, { ...IN_PUBLIC, signal }),
    sqlRows<{ readonly Name: string; readonly Created: string }>(`SHOW TOKENS FOR ${user}`, { ...IN_PUBLIC, signal }),
  ]);
  return {
    grants: grants.map(grantOf).sort((a, b) => (a.database < b.database ? -1 : 1)),
    tokens: tokens.map(({ Name: token, Created: created }) => ({ name: token, createdMs: Date.parse(created) })),
  };
}

function grantOf({ Mode: mode, On: target }: GrantRow): UserGrant {
  return { mode, database: target.slice(0, -'.*'.length) };
}

/** Returns the name of a mode for people. */
export function modeText(mode: string): string {
  return Object.hasOwn(GRANT_MODES, mode) ? GRANT_MODES[mode as GrantMode] : mode;
}

/** Creates a user without rights. */
export async function createUser(name: string, password: string): Promise<void> {
  await runSql(`CREATE USER ${quotedName(name)} PASSWORD ${passwordSql(password)}`, IN_PUBLIC);
}

/** Gives a user another password. */
export async function changePassword(name: string, password: string): Promise<void> {
  await runSql(`ALTER USER ${quotedName(name)} PASSWORD ${passwordSql(password)}`, IN_PUBLIC);
}

/** Deletes a user, with all rights and tokens. */
export async function deleteUser(name: string): Promise<void> {
  await runSql(`DROP USER ${quotedName(name)}`, IN_PUBLIC);
}

/** Adds the rights of a mode to those that a user has in a database. */
export async function grant(name: string, mode: GrantMode, database: string): Promise<void> {
  await runSql(`GRANT ${mode} ON ${targetSql(database)} TO ${quotedName(name)}`, IN_PUBLIC);
}

/** Removes the rights of a mode from those that a user has in a database. */
export async function revoke(name: string, mode: GrantMode | 'ALL', database: string): Promise<void> {
  await runSql(`REVOKE ${mode} ON ${targetSql(database)} FROM ${quotedName(name)}`, IN_PUBLIC);
}

/** Creates a token. @param token its name; the server chooses one if it is empty. @returns the token, which is not shown again. */
export async function createToken(
  user: string,
  token: string,
): Promise<{ readonly name: string; readonly text: string }> {
  const named = token === '' ? '' : ` ${quotedName(token)}`;
  const [row] = await sqlRows<{ readonly Name: string; readonly Token: string }>(
    `CREATE TOKEN${named} FOR ${quotedName(user)}`,
    IN_PUBLIC,
  );
  return { name: row.Name, text: row.Token };
}

/** Deletes a token: programs that use it are refused. */
export async function deleteToken(user: string, token: string): Promise<void> {
  await runSql(`DROP TOKEN ${quotedName(token)} FOR ${quotedName(user)}`, IN_PUBLIC);
}

/** A text is taken as it is, also if it begins like the hash of a password. */
function passwordSql(password: string): string {
  return quotedText(`plain:${password}`);
}

function targetSql(database: string): string {
  return database === ALL_DATABASES ? '*.*' : `${quotedName(database)}.*`;
}
