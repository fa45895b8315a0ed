import type { StoredUser, UserGrant } from '#shared/contracts/gen/metadata';
import { isMode, type Grant } from '#shared/contracts/rights';

import { isSlow, parseVerifier, type Verifier } from './password.js';
import type { User } from './user-file.js';

interface Entry {
  readonly user: User;
  readonly verifierText: string;
  readonly hashes: readonly string[];
}

/** A password that never matches. */
const NO_PASSWORD: Verifier = { kind: 'mysql_native_password' };

/** The users that SQL manages, as metadata's watch delivers them. */
export class StoredUsers {
  readonly #entries = new Map<string, Entry>();
  readonly #byToken = new Map<string, User>();

  find(name: string): User | undefined {
    return this.#entries.get(name)?.user;
  }

  /** Finds the user of a token by its SHA-256 in hexadecimal digits. */
  findToken(hash: string): User | undefined {
    return this.#byToken.get(hash);
  }

  /** Returns the names of all users. */
  names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Adds a user, or replaces the one of this name. */
  put({ name, verifier: verifierText, grants, tokens }: StoredUser): void {
    const before = this.#entries.get(name);
    // The same object while the password is the same: it identifies passwords that were checked before.
    const verifier = before?.verifierText === verifierText ? before.user.verifier : verifierOf(verifierText);
    const user: User = { name, verifier, grants: grants.flatMap(grantOf), isStored: true };
    this.drop(name);
    const hashes = tokens.map(({ hash }) => hash);
    this.#entries.set(name, { user, verifierText, hashes });
    for (const hash of hashes) this.#byToken.set(hash, user);
  }

  /** Removes a user with its tokens; one that does not exist changes nothing. */
  drop(name: string): void {
    for (const hash of this.#entries.get(name)?.hashes ?? []) this.#byToken.delete(hash);
    this.#entries.delete(name);
  }
}

/** Stored passwords are hashed: a text that is not such a hash matches no password, rather than being one. */
function verifierOf(text: string): Verifier {
  try {
    const verifier = parseVerifier(text);
    return isSlow(verifier) ? verifier : NO_PASSWORD;
  } catch {
    return NO_PASSWORD;
  }
}

/** A mode of a newer release grants nothing. */
function grantOf({ database, mode }: UserGrant): Grant[] {
  return isMode(mode) ? [{ database, mode }] : [];
}
