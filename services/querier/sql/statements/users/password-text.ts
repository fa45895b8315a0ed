import { hashPassword, isSlow, newSalt, parseVerifier } from '#shared/auth/password';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { StatementContext } from '../../statement.js';
import type { Cursor } from '../../syntax/cursor.js';

const PASSWORD_BYTES_MAX = 1024;
/** The prefix, two numbers, and salts and hashes in hexadecimal digits. */
const VERIFIER_CHARS_MAX = 4096;
const SALT_BYTES = 16;
/** Longest wait for the hashes of others. */
const WAIT_MS = 10_000;
const PREFIX = /^(scrypt|pbkdf2_sha256|pg_scram_sha256|mysql_native_password):/;
const PLAIN_PREFIX = 'plain:';

/** Parses `[WITH] PASSWORD 'text'` up to the end of the statement; errors contain nothing of it. */
export function parsePassword(cursor: Cursor): string {
  cursor.hidesRest = true;
  cursor.accept('WITH');
  cursor.expect('PASSWORD');
  const password = cursor.text('password in single quotes');
  cursor.expectEnd();
  checkPassword(password);
  return password;
}

function checkPassword(text: string): void {
  if (!PREFIX.test(text)) {
    const bytes = Buffer.byteLength(plainOf(text));
    if (bytes >= 1 && bytes <= PASSWORD_BYTES_MAX) return;
    throw invalid(`the password has ${bytes} bytes, 1 to ${PASSWORD_BYTES_MAX} are allowed`);
  }
  if (text.length > VERIFIER_CHARS_MAX) throw invalid(`a hashed password has at most ${VERIFIER_CHARS_MAX} characters`);
  if (isSlow(parseVerifier(text))) return;
  throw invalid('mysql_native_password matches no password over HTTP: use scrypt, or the password itself');
}

/**
 * Returns what checks a password: the text itself if it is hashed already, otherwise its hash.
 *
 * @throws `rate_limited`, `deadline_exceeded` if many others wait for theirs.
 */
export async function verifierOf(text: string, { deps, call }: StatementContext): Promise<string> {
  if (PREFIX.test(text)) return text;
  const options = { format: 'scrypt', iterations: 1, salt: newSalt(SALT_BYTES) } as const;
  return deps.hashing.run(() => hashPassword(plainOf(text), options), { signal: call.signal, waitMs: WAIT_MS });
}

/** A password that begins like a hash is written with a prefix, as in user files. */
function plainOf(text: string): string {
  return text.startsWith(PLAIN_PREFIX) ? text.slice(PLAIN_PREFIX.length) : text;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
