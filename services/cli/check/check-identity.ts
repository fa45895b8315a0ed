import type { CatalogCopy } from '#services/metadata/index';
import type { FileSystem } from '#shared/fs/file-system';
import { identityText, inspectIdentity, type Identity } from '#shared/node/data-folder';

import type { Report } from './report.js';

/**
 * Returns whether a catalog belongs to a data folder; reports a problem if not. Metadata may use another folder, or the
 * catalog of something else may be in its place: compared with that, all files would count as garbage.
 */
export async function isFolderOf(
  catalog: CatalogCopy,
  dataFolder: string,
  { fs, report }: { readonly fs: FileSystem; readonly report: Report },
): Promise<boolean> {
  const path = `${dataFolder}/identity/folder.json`;
  const { clusterId, dataFolderId } = catalog;
  const known = { folderId: dataFolderId, clusterId };
  const identity = await inspectIdentity(dataFolder, fs);
  let what: string;
  if (typeof identity === 'string') {
    what = identity;
  } else {
    if (identity !== undefined && isOfOther(identity, clusterId)) {
      report.problem({
        path,
        what: `names the cluster ${identity.clusterId}, the catalog is that of the cluster ${clusterId}`,
        lost: 'which rows are in which files, if the right catalog is nowhere else; no process starts',
        remedy:
          'put the catalog of that cluster back, or restore a backup into an empty folder; files were not compared',
      });
      return false;
    }
    if (dataFolderId === '' || identity?.folderId === dataFolderId) return true;
    what = identity === undefined ? 'is missing' : `names the data folder ${identity.folderId}`;
  }
  report.problem({
    path,
    what: `${what}; the files of this catalog are in the data folder ${dataFolderId}, of the cluster ${clusterId}`,
    lost: 'no row; servers do not start',
    remedy: `name that folder, or if this is it, write ${identityText(known)} into the file; files were not compared`,
  });
  return false;
}

function isOfOther(identity: Identity, clusterId: string): boolean {
  return identity.clusterId !== '' && clusterId !== '' && identity.clusterId !== clusterId;
}
