import type { Empty } from '#shared/contracts/gen/common';
import type {
  AlterUserRequest,
  ChangeUserResponse,
  CreateTokenRequest,
  CreateUserRequest,
  DropTokenRequest,
  DropUserRequest,
  ListUsersResponse,
  StoredUser,
  UserGrantRequest,
} from '#shared/contracts/gen/metadata';
import { isMode, modeWith, modeWithout, type Mode } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import { checkDatabaseName } from '#shared/schema/names';
import { userChanged, userDropped, type MetadataCatalog } from '../catalog.js';

const USERS_MAX = 10_000;
const GRANTS_OF_USER_MAX = 100;
const TOKENS_OF_USER_MAX = 100;
/** Grants and tokens of all users: each gateway holds them in memory. */
const GRANTS_MAX = 100_000;
const TOKENS_MAX = 100_000;
const NAME_BYTES_MAX = 128;
const VERIFIER_BYTES_MAX = 4096;
/** The name is a part of `name:password` in headers and of lines of user files. */
const NAME = /^[^\p{C}\p{Z}:](?:[^\p{C}:]*[^\p{C}\p{Z}:])?$/u;
const HASH = /^[0-9a-f]{64}$/;

/** Stores a user without rights. @throws `invalid_arguments`. */
export function createUser(catalog: MetadataCatalog, request: CreateUserRequest): ChangeUserResponse {
  const { name, verifier, ifNotExists } = request;
  checkName('user', name);
  checkVerifier(verifier);
  return catalog.change((record) => {
    if (catalog.users.find(name) !== undefined) {
      if (ifNotExists) return unchanged(catalog);
      throw invalid(`User ${name} already exists`);
    }
    if (catalog.users.counts().users >= USERS_MAX) throw invalid(`there are ${USERS_MAX} users: drop some`);
    catalog.users.insert(name, verifier, catalog.clock.nowMs());
    record(userChanged(existing(catalog, name)));
    return changed(catalog);
  });
}

/** Replaces what checks the password of a user. @throws `invalid_arguments`. */
export function alterUser(catalog: MetadataCatalog, { name, verifier }: AlterUserRequest): ChangeUserResponse {
  checkVerifier(verifier);
  return catalog.change((record) => {
    existing(catalog, name);
    catalog.users.setVerifier(name, verifier);
    record(userChanged(existing(catalog, name)));
    return changed(catalog);
  });
}

/** Drops a user with its grants and tokens. @throws `invalid_arguments`. */
export function dropUser(catalog: MetadataCatalog, { name, ifExists }: DropUserRequest): ChangeUserResponse {
  return catalog.change((record) => {
    if (ifExists && catalog.users.find(name) === undefined) return unchanged(catalog);
    existing(catalog, name);
    catalog.users.delete(name);
    record(userDropped(name));
    return changed(catalog);
  });
}

/** Adds the rights of a mode to those that a user has in a database. @throws `invalid_arguments`. */
export function grantMode(catalog: MetadataCatalog, request: UserGrantRequest): ChangeUserResponse {
  const { user: name, database } = request;
  const mode = checkedMode(request.mode);
  if (database !== '') checkDatabaseName(database);
  return catalog.change((record) => {
    const user = existing(catalog, name);
    const before = user.grants.find((grant) => grant.database === database);
    if (before === undefined) checkRoomForGrant(catalog, user);
    const granted = modeWith(checkedModeOf(before), mode);
    if (granted === before?.mode) return unchanged(catalog);
    catalog.users.putGrant(name, { database, mode: granted });
    record(userChanged(existing(catalog, name)));
    return changed(catalog);
  });
}

/** Removes the rights of a mode from those that a user has in a database. @throws `invalid_arguments`. */
export function revokeMode(catalog: MetadataCatalog, request: UserGrantRequest): ChangeUserResponse {
  const { user: name, database } = request;
  const mode = checkedMode(request.mode);
  return catalog.change((record) => {
    const before = existing(catalog, name).grants.find((grant) => grant.database === database);
    const left = modeWithout(checkedModeOf(before), mode);
    if (before === undefined || left === before.mode) {
      const target = database === '' ? '*.*' : `${database}.*`;
      throw invalid(`User ${name} has no such right on ${target}: SHOW GRANTS lists the rights of users`);
    }
    if (left === undefined) catalog.users.deleteGrant(name, database);
    else catalog.users.putGrant(name, { database, mode: left });
    record(userChanged(existing(catalog, name)));
    return changed(catalog);
  });
}

/** Stores a token of a user by its hash. @throws `invalid_arguments`. */
export function createToken(catalog: MetadataCatalog, request: CreateTokenRequest): ChangeUserResponse {
  const { user: name, name: token, hash } = request;
  checkName('token', token);
  if (!HASH.test(hash)) throw invalid('the hash of a token has 64 hexadecimal digits');
  return catalog.change((record) => {
    const { tokens } = existing(catalog, name);
    if (tokens.some((it) => it.name === token)) throw invalid(`Token ${token} of user ${name} already exists`);
    if (catalog.users.hasToken(hash)) throw invalid('a token with this hash already exists');
    if (tokens.length >= TOKENS_OF_USER_MAX) {
      throw invalid(`User ${name} has ${TOKENS_OF_USER_MAX} tokens: drop some`);
    }
    if (catalog.users.counts().tokens >= TOKENS_MAX) throw invalid(`there are ${TOKENS_MAX} tokens: drop some`);
    catalog.users.insertToken(name, { name: token, hash, createdMs: catalog.clock.nowMs() });
    record(userChanged(existing(catalog, name)));
    return changed(catalog);
  });
}

/** Drops a token of a user. @throws `invalid_arguments`. */
export function dropToken(catalog: MetadataCatalog, { user: name, name: token }: DropTokenRequest): ChangeUserResponse {
  return catalog.change((record) => {
    const { tokens } = existing(catalog, name);
    if (tokens.every((it) => it.name !== token)) throw invalid(`Token not found: ${printable(token)} of user ${name}`);
    catalog.users.deleteToken(name, token);
    record(userChanged(existing(catalog, name)));
    return changed(catalog);
  });
}

/** Returns all users by name, without what checks their passwords and tokens. */
export function listUsers(catalog: MetadataCatalog, _request: Empty): ListUsersResponse {
  const users = catalog.users.list().map((user) => {
    return { ...user, verifier: '', tokens: user.tokens.map((token) => ({ ...token, hash: '' })) };
  });
  return { users };
}

function changed({ version }: MetadataCatalog): ChangeUserResponse {
  return { changed: true, catalogVersion: version };
}

function unchanged({ version }: MetadataCatalog): ChangeUserResponse {
  return { changed: false, catalogVersion: version };
}

function existing(catalog: MetadataCatalog, name: string): StoredUser {
  const user = catalog.users.find(name);
  if (user === undefined) {
    throw invalid(
      `User not found: ${printable(name)}; SQL manages the users of CREATE USER, not those of user_provider`,
    );
  }
  return user;
}

function checkRoomForGrant(catalog: MetadataCatalog, { name, grants }: StoredUser): void {
  if (grants.length >= GRANTS_OF_USER_MAX) {
    throw invalid(`User ${name} has grants on ${GRANTS_OF_USER_MAX} databases: revoke some, or grant on *.*`);
  }
  if (catalog.users.counts().grants >= GRANTS_MAX) throw invalid(`there are ${GRANTS_MAX} grants: revoke some`);
}

function checkName(what: string, name: string): void {
  if (NAME.test(name) && Buffer.byteLength(name) <= NAME_BYTES_MAX) return;
  const allowed = `1 to ${NAME_BYTES_MAX} bytes without colons and control characters, no space at either end`;
  throw invalid(`Invalid ${what} name: ${printable(name)}: ${allowed}`);
}

function checkVerifier(verifier: string): void {
  if (verifier === '' || Buffer.byteLength(verifier) > VERIFIER_BYTES_MAX) {
    throw invalid(`what checks a password has 1 to ${VERIFIER_BYTES_MAX} bytes`);
  }
}

function checkedMode(mode: string): Mode {
  if (isMode(mode)) return mode;
  throw invalid(`unknown mode "${printable(mode)}": use read, write, read_write or admin`);
}

function checkedModeOf(grant: { readonly mode: string } | undefined): Mode | undefined {
  return grant && checkedMode(grant.mode);
}

function printable(name: string): string {
  return name.replaceAll(/\p{C}/gu, '?').slice(0, 80);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
