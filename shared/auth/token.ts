import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
const NAME_BYTES = 4;

/** Returns a random token: `alm_` and 43 characters. */
export function newToken(): string {
  return `alm_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

/** Returns the name of a token for which a user chose none. */
export function newTokenName(): string {
  return `token_${randomBytes(NAME_BYTES).toString('hex')}`;
}

/** Whether a text has the form of a token that Almanac makes. */
export function isTokenText(text: string): boolean {
  return /^alm_[A-Za-z0-9_-]{43}$/.test(text);
}

/** Returns the hash by which a token is stored. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
