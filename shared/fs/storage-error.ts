import { AlmanacError } from '#shared/errors/almanac-error';

/** The ways in which disks refuse, in words; paths are for the log only. */
const WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the quota of the disk is used up',
  EROFS: 'the disk is read-only',
  EIO: 'the disk fails',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ENOENT: 'a file is missing',
};
/** The engine tells it in its text only. */
const ENGINE_CODES: Readonly<Record<string, string>> = {
  'no space left': 'ENOSPC',
  'read-only file system': 'EROFS',
  'input/output error': 'EIO',
  'permission denied': 'EACCES',
};

/**
 * What callers hear when files could not be written or read: `storage_unavailable` with the reason. Anything but an error
 * of the disk stays as it is.
 *
 * @param error of Node.js (`code` = ENOSPC ..) or of the engine.
 * @param what that did not work: "segments cannot be written".
 */
export function storageError(error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof AlmanacError) return error;
  const words = wordsOf(error);
  if (words === undefined) return error;
  return new AlmanacError('storage_unavailable', `${what}: ${words}`, { cause: error });
}

function wordsOf(error: Error): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined) return WORDS[code];
  if (!error.message.startsWith('IO Error')) return undefined;
  const lower = error.message.toLowerCase();
  const found = Object.keys(ENGINE_CODES).find((text) => lower.includes(text));
  return found === undefined ? 'the engine could not read or write a file' : WORDS[ENGINE_CODES[found]];
}
