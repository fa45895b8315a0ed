import { AlmanacError } from '#shared/errors/almanac-error';
import { errorCode } from '#shared/fs/node-file-system';

/** Runs work on local files and translates the disk's refusals into readable errors. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (errorCode(error) === undefined || error instanceof AlmanacError) throw error;
    throw new AlmanacError('storage_unavailable', (error as Error).message, { cause: error });
  }
}
