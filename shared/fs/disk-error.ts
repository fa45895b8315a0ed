import { AlmanacError } from '#shared/errors/almanac-error';

import { errorCode, ShortWrite } from './node-file-system.js';

/** The disk takes no more bytes; what is on it can be read. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);
/** What a disk refuses whoever asks, and where the same may succeed when somebody has seen to it. */
const REFUSALS: ReadonlySet<string> = new Set([...FULL, 'EIO', 'EACCES', 'EPERM', 'EFBIG', 'EMFILE', 'ENFILE']);
/** `ENOSPC: no space left on device, write`. */
const NODE = /^E[A-Z0-9]+: ([^,]+)/;
/** `IO Error: Could not write file "..": No space left on device`: the engine's. */
const ENGINE = /^IO Error: (?:.*": )?(.*)$/s;

/**
 * The one translator of failed writes, of Node's errors and the engine's; all other errors stay as they are.
 *
 * @param what could not be done.
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

/** Whether a write failed for want of room, or because the disk is read-only. */
export function isDiskFull(error: unknown): boolean {
  return FULL.has(errorCode(error) ?? '') || error instanceof ShortWrite;
}
