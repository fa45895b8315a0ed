import type { CatalogCopy } from '#services/metadata/index';
import type { FileSystem } from '#shared/fs/file-system';
import { BACKUP_LIST } from '#shared/node/startable-folder';
import { LocalStore, type PublishedFile } from '#shared/segments/local-store';

import { CATALOG_FILE, readList, STORE_FOLDER } from '../backup/list.js';
import { CommandFailure } from '../command.js';
import type { Report } from './report.js';

const REMEDY =
  'use another backup; if a server of an earlier release was started in this folder, it is a data folder by now: remove the list';

/**
 * Compares the list of a backup, if the folder is one, with its catalog, as a restore does. The files themselves are checked
 * against the catalog, which then agrees with the list.
 */
export async function checkBackup(
  catalog: CatalogCopy,
  folder: string,
  { fs, report }: { readonly fs: FileSystem; readonly report: Report },
): Promise<void> {
  const path = `${folder}/${BACKUP_LIST}`;
  if ((await fs.size(path)) === undefined) return;
  report.note(`"${folder}" is a backup`);
  const lost = 'the backup: it cannot be restored';
  try {
    const { files } = await readList(fs, folder);
    const listed = new Map<string, PublishedFile>(files.map((file) => [file.path, file]));
    if (!isSame(listed.get(CATALOG_FILE), await new LocalStore(folder, fs).sum(CATALOG_FILE))) {
      const what = 'is not the file that the list of the backup names';
      report.problem({ path: `${folder}/${CATALOG_FILE}`, what, lost, remedy: REMEDY });
    }
    for (const { manifest } of catalog.regions()) {
      const lacking = [...manifest.segments, ...manifest.seriesFiles].find(
        (file) => !isSame(listed.get(`${STORE_FOLDER}/${file.path}`), file),
      );
      if (lacking === undefined) continue;
      report.problem({ path, what: `does not have "${lacking.path}" as the catalog has`, lost, remedy: REMEDY });
      return;
    }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    report.problem({ path, what: `cannot be used: ${error.message}`, lost, remedy: REMEDY });
  }
}

function isSame(listed: PublishedFile | undefined, { bytes, crc32c }: PublishedFile): boolean {
  return listed?.bytes === bytes && listed.crc32c === crc32c;
}
