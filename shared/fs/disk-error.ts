import { AlmanacError } from '#shared/errors/almanac-error';

import { errorCode } from './node-file-system.js';
import { ShortWrite } from './node-file.js';

/** The disk accepts no more bytes; existing files can be read. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);
/** Refusals that depend on the disk, not on the caller; a repeated call may succeed after an operator has acted. */
const REFUSALS: ReadonlySet<string> = new Set([...FULL, 'EIO', 'EACCES', 'EPERM', 'EFBIG', 'EMFILE', 'ENFILE']);
/** `ENOSPC: no space left on device, write`. */
const NODE = /^E[A-Z0-9]+: ([^,]+)/;
/** `IO Error: Could not write file "..": No space left on device`: the engine's. */
const ENGINE = /^IO Error: (?:.*": )?(.*)$/s;

/**
 * Translates failed writes, from Node.js and from the engine, in one place; all other errors are returned unchanged.
 *
 * @param what describes what could not be done.
 * @returns `storage_unavailable` with the reason, without paths.
 */
export function diskError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof AlmanacError) return error;
  const isRefusal = REFUSALS.has(errorCode(error) ?? '');
  const reason = (isRefusal ? NODE.exec(error.message) : ENGINE.exec(error.message))?.[1];
  if (reason === undefined && !isRefusal) return error;
  const text = `${what}: ${reason ?? errorCode(error)}`;
  return new AlmanacError('storage_unavailable', text, { cause: error, retryAfterSeconds: 5 });
}

/** Returns whether a write failed for lack of space, or because the disk is read-only. */
export function isDiskFull(error: unknown): boolean {
  return FULL.has(errorCode(error) ?? '') || error instanceof ShortWrite;
}
