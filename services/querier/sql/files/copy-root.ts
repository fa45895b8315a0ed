import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFolder } from '#shared/fs/confined-folder';

/** Returns the folder whose files COPY may read and write. @throws `unsupported` if none is configured. */
export function copyRootOf({ copyRoot }: { readonly copyRoot: ConfinedFolder | undefined }): ConfinedFolder {
  if (copyRoot !== undefined) return copyRoot;
  const text =
    'Not supported: files in SQL: set storage.copy_root (of the querier, in a cluster) to the folder in which COPY may read ' +
    'and write files';
  throw new AlmanacError('unsupported', text);
}
