import { requireEverywhere } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFolder } from '#shared/fs/confined-folder';

import type { StatementContext } from '../statement.js';

/** Returns the folder whose files COPY may read and write. @throws `unsupported` if none is configured. */
export function copyRootOf({ copyRoot }: { readonly copyRoot: ConfinedFolder | undefined }): ConfinedFolder {
  if (copyRoot !== undefined) return copyRoot;
  const text =
    'Not supported: files in SQL: set storage.copy_root (of the querier, in a cluster) to the folder in which COPY may read ' +
    'and write files';
  throw new AlmanacError('unsupported', text);
}

/**
 * Returns the folder for a statement that names files. They belong to no database, so the user must be allowed to write in
 * all of them.
 *
 * @throws `permission_denied`; `unsupported` if no folder is configured.
 */
export function namedFiles({ deps, call }: Pick<StatementContext, 'deps' | 'call'>): ConfinedFolder {
  const root = copyRootOf(deps);
  requireEverywhere(call, 'write');
  return root;
}
