import { isAscii } from 'node:buffer';
import { createHash, createHmac, pbkdf2, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

import { AlmanacError } from '#shared/errors/almanac-error';

const pbkdf2Of = promisify(pbkdf2);

/** What is known of a password, as a line of text (spec: http-query-admin 9.2). */
export type Verifier =
  | { readonly kind: 'plain'; readonly password: string }
  | { readonly kind: 'pbkdf2_sha256'; readonly iterations: number; readonly salt: Buffer; readonly hash: Buffer }
  | { readonly kind: 'pg_scram_sha256'; readonly iterations: number; readonly salt: Buffer; readonly storedKey: Buffer }
  | { readonly kind: 'scrypt'; readonly costLog2: number; readonly salt: Buffer; readonly hash: Buffer }
  /** Of no use over HTTP: it never matches. */
  | { readonly kind: 'mysql_native_password' };

const HASH_BYTES = 32;
const ITERATIONS_MAX = 1_000_000;
const SALT_BYTES_MAX = 1024;
/** Cost of new verifiers: 128 MiB would be a way to exhaust memory; this takes 32 MiB and about 60 ms. */
const SCRYPT_COST_LOG2 = 15;
const SCRYPT_COST_LOG2_MAX = 17;
const SCRYPT_BLOCK = 8;

/** Forms that `hashPassword` writes. */
export const PASSWORD_FORMATS = ['scrypt', 'pbkdf2_sha256', 'pg_scram_sha256', 'mysql_native_password'] as const;
/** A form of stored passwords. */
export type PasswordFormat = (typeof PASSWORD_FORMATS)[number];

/**
 * Reads a password of a user file, plain or as a verifier.
 *
 * @throws `invalid_arguments` if it begins like a verifier and is none; the message does not contain it.
 */
export function parseVerifier(text: string): Verifier {
  const [kind, ...parts] = text.split(':');
  switch (kind) {
    case 'plain':
      return { kind, password: text.slice(kind.length + 1) };
    case 'pbkdf2_sha256': {
      const [iterations, salt, hash] = [countOf(parts[0], ITERATIONS_MAX), saltOf(parts[1]), hashOf(parts[2])];
      return expectParts(parts, 3, { kind, iterations, salt, hash });
    }
    case 'pg_scram_sha256': {
      const [iterations, salt, storedKey] = [countOf(parts[0], ITERATIONS_MAX), saltOf(parts[1]), hashOf(parts[2])];
      hashOf(parts[3]);
      return expectParts(parts, 4, { kind, iterations, salt, storedKey });
    }
    case 'scrypt': {
      const [costLog2, salt, hash] = [countOf(parts[0], SCRYPT_COST_LOG2_MAX), saltOf(parts[1]), hashOf(parts[2])];
      return expectParts(parts, 3, { kind, costLog2, salt, hash });
    }
    case 'mysql_native_password':
      return { kind };
    default:
      return { kind: 'plain', password: text };
  }
}

/** Whether checking takes milliseconds, so that successes are worth keeping. */
export function isSlow({ kind }: Verifier): boolean {
  return kind === 'pbkdf2_sha256' || kind === 'pg_scram_sha256' || kind === 'scrypt';
}

/** Checks a password, in a time that does not depend on how much of it is right. */
export async function isPassword(verifier: Verifier, password: string): Promise<boolean> {
  switch (verifier.kind) {
    case 'plain':
      return timingSafeEqual(sha256(password), sha256(verifier.password));
    case 'pbkdf2_sha256': {
      const hash = await pbkdf2Of(password, verifier.salt, verifier.iterations, HASH_BYTES, 'sha256');
      return timingSafeEqual(hash, verifier.hash);
    }
    case 'pg_scram_sha256': {
      const salted = await pbkdf2Of(await prepared(password), verifier.salt, verifier.iterations, HASH_BYTES, 'sha256');
      const clientKey = createHmac('sha256', salted).update('Client Key').digest();
      return timingSafeEqual(sha256(clientKey), verifier.storedKey);
    }
    case 'scrypt':
      return timingSafeEqual(await scryptOf(password, verifier.salt, verifier.costLog2), verifier.hash);
    case 'mysql_native_password':
      return false;
  }
}

/** How a password is hashed. */
export interface HashOptions {
  readonly format: PasswordFormat;
  /** Of PBKDF2. */
  readonly iterations: number;
  readonly salt: Buffer;
}

/** Returns the line of text by which a password is checked. @throws `invalid_arguments` for options out of bounds. */
export async function hashPassword(password: string, { format, iterations, salt }: HashOptions): Promise<string> {
  if (password === '') throw new AlmanacError('invalid_arguments', 'the password is empty');
  countOf(String(iterations), ITERATIONS_MAX);
  const hex = saltOf(salt.toString('hex')).toString('hex');
  switch (format) {
    case 'scrypt':
      return `scrypt:${SCRYPT_COST_LOG2}:${hex}:${(await scryptOf(password, salt, SCRYPT_COST_LOG2)).toString('hex')}`;
    case 'pbkdf2_sha256': {
      const hash = await pbkdf2Of(password, salt, iterations, HASH_BYTES, 'sha256');
      return `pbkdf2_sha256:${iterations}:${hex}:${hash.toString('hex')}`;
    }
    case 'pg_scram_sha256': {
      const salted = await pbkdf2Of(await prepared(password), salt, iterations, HASH_BYTES, 'sha256');
      const storedKey = sha256(createHmac('sha256', salted).update('Client Key').digest());
      const serverKey = createHmac('sha256', salted).update('Server Key').digest();
      return `pg_scram_sha256:${iterations}:${hex}:${storedKey.toString('hex')}:${serverKey.toString('hex')}`;
    }
    case 'mysql_native_password':
      return `mysql_native_password:${sha1(sha1(password)).toString('hex')}`;
  }
}

/** Returns a random salt. */
export function newSalt(bytes: number): Buffer {
  return randomBytes(bytes);
}

function scryptOf(password: string, salt: Buffer, costLog2: number): Promise<Buffer> {
  const cost = 2 ** costLog2;
  const options = { N: cost, r: SCRYPT_BLOCK, p: 1, maxmem: 256 * cost * SCRYPT_BLOCK };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

/** Prepares a password as PostgreSQL does: one that cannot be prepared is used as it is. */
async function prepared(password: string): Promise<string> {
  // ASCII stays as it is, and the tables for all other characters take a fiftieth of a start.
  if (isAscii(Buffer.from(password))) return password;
  const { saslprep } = await import('@mongodb-js/saslprep');
  try {
    return saslprep(password);
  } catch {
    return password;
  }
}

function countOf(text: string | undefined, max: number): number {
  const count = text !== undefined && /^[0-9]{1,7}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > max) throw malformed();
  return count;
}

function saltOf(text: string | undefined): Buffer {
  const salt = hexOf(text);
  if (salt.length < 1 || salt.length > SALT_BYTES_MAX) throw malformed();
  return salt;
}

function hashOf(text: string | undefined): Buffer {
  const hash = hexOf(text);
  if (hash.length !== HASH_BYTES) throw malformed();
  return hash;
}

function hexOf(text = ''): Buffer {
  if (!/^([0-9a-f]{2})+$/i.test(text)) throw malformed();
  return Buffer.from(text, 'hex');
}

function expectParts<T>(parts: readonly string[], count: number, verifier: T): T {
  if (parts.length !== count) throw malformed();
  return verifier;
}

function malformed(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'malformed password verifier');
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

function sha1(data: string | Buffer): Buffer {
  return createHash('sha1').update(data).digest();
}
