import { AlmanacError } from '#shared/errors/almanac-error';
import { errorCode } from '#shared/fs/node-file-system';

/** Runs work on files of the machine; what the disk refuses becomes an error that one can read. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (errorCode(error) === undefined || error instanceof AlmanacError) throw error;
    throw new AlmanacError('storage_unavailable', (error as Error).message, { cause: error });
  }
}
