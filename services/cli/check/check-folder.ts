import { CatalogCopy } from '#services/metadata/index';
import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { errorCode, nodeFileSystem as fs } from '#shared/fs/node-file-system';
import { makePrivateFolder } from '#shared/fs/private-folder';
import { RESTORE_MARK } from '#shared/node/unfinished-restore';

import type { FileProgress } from '../progress.js';
import { checkBackup } from './check-backup.js';
import { isFolderOf } from './check-identity.js';
import { checkLogs, checkRuns } from './check-logs.js';
import { checkRegions, countOrphans } from './check-store.js';
import { FileChecker } from './file-checker.js';
import type { Report } from './report.js';

/** What to check. */
export interface FolderToCheck {
  /** Absolute path. */
  readonly dataFolder: string;
  /** Folder of the catalog file: in the data folder, unless metadata uses another one. */
  readonly metadataFolder: string;
  /** Folder of the logs, if they are not in the data folder. */
  readonly walDir: string | undefined;
  /** Whether only existence and size of files are checked. */
  readonly isQuick: boolean;
  readonly progress: FileProgress;
}

/** Parts by which a data folder is recognised; metadata's own folder only has the second. */
const PARTS = ['identity', 'metadata', 'slots', 'store'];

/**
 * Compares the parts of a data folder with each other and with their checksums. Changes nothing, and works while servers use
 * the folder.
 *
 * @throws `invalid_arguments` if it is not a data folder; `storage_unavailable` if it cannot be read.
 */
export async function checkFolder(folder: FolderToCheck, report: Report): Promise<void> {
  if (await isUnfinished(folder.dataFolder, report)) return;
  await expectDataFolder(folder.dataFolder);
  const scratch = await makePrivateFolder('almanac-check');
  try {
    await checkParts(folder, scratch, report);
  } catch (error) {
    if (error instanceof AlmanacError || errorCode(error) === undefined) throw error;
    throw new AlmanacError('storage_unavailable', `the check cannot continue: ${reasonOf(error)}`, { cause: error });
  } finally {
    await fs.removeFolder(scratch);
  }
}

/** An unfinished restore is not a data folder yet, whatever parts of it exist. */
async function isUnfinished(dataFolder: string, report: Report): Promise<boolean> {
  const path = `${dataFolder}/${RESTORE_MARK}`;
  // An unreadable folder is reported as such later.
  const isMarked = (await fs.size(path).catch(() => undefined)) !== undefined;
  if (!isMarked) return false;
  report.problem({
    path,
    what: 'says that a restore into this folder is running, or was interrupted',
    lost: 'nothing that is in the backup; no server starts in the folder',
    remedy: 'run almanac restore again; files were not compared',
  });
  return true;
}

async function expectDataFolder(folder: string): Promise<void> {
  let names: readonly string[];
  try {
    if ((await fs.size(folder)) === undefined) {
      throw new AlmanacError('invalid_arguments', `there is no folder "${folder}"`);
    }
    names = await fs.list(folder);
  } catch (error) {
    if (error instanceof AlmanacError) throw error;
    const code = errorCode(error) === 'ENOTDIR' ? 'invalid_arguments' : 'storage_unavailable';
    throw new AlmanacError(code, `"${folder}" cannot be read: ${reasonOf(error)}`, { cause: error });
  }
  if (PARTS.some((part) => names.includes(part))) return;
  const text = `"${folder}" is not a data folder of Almanac: it has none of ${PARTS.join(', ')}`;
  throw new AlmanacError('invalid_arguments', text);
}

async function checkParts(folder: FolderToCheck, scratch: string, report: Report): Promise<void> {
  const { dataFolder, isQuick, progress } = folder;
  const storeFolder = `${dataFolder}/store`;
  // Logs are read first: rows leave them once the catalog has them.
  const logs = await checkLogs({ ...folder, fs }, report);
  const catalog = await readCatalog(folder, scratch, report);
  if (catalog === undefined) return;
  let files: FileChecker | undefined;
  try {
    if (!(await isFolderOf(catalog, dataFolder, { fs, report }))) return;
    await checkBackup(catalog, dataFolder, { fs, report });
    for (const facts of logs) checkRuns(facts, catalog, report);
    files = await FileChecker.open(storeFolder, { fs, scratch: `${scratch}/spill`, isQuick });
    const again = (): Promise<CatalogCopy> => takeCopy(folder, `${scratch}/again`);
    const check = { catalog, files, storeFolder, fs, report, again, progress };
    await checkRegions(check);
    await countOrphans(check);
  } finally {
    files?.close();
    catalog.close();
  }
}

async function takeCopy({ metadataFolder }: FolderToCheck, scratch: string): Promise<CatalogCopy> {
  await fs.removeFolder(scratch);
  await fs.makeFolder(scratch);
  return CatalogCopy.take({ folder: metadataFolder, scratch, fs, clock: systemClock });
}

/** Reads the catalog, if its regions can be enumerated. */
async function readCatalog(folder: FolderToCheck, scratch: string, report: Report): Promise<CatalogCopy | undefined> {
  const path = `${folder.metadataFolder}/almanac.db`;
  const lost = 'which rows are in which files, so nothing can be read';
  const remedy = 'restore the folder of metadata from a backup of the same time; files were not compared';
  try {
    const catalog = await takeCopy(folder, `${scratch}/catalog`);
    if (catalog.isOlder) {
      report.note(`"${path}" has format ${catalog.format} of an earlier release: the next start migrates it`);
    }
    if (catalog.faults.length === 0) return catalog;
    catalog.close();
    report.problem({ path, what: `is damaged: ${catalog.faults.join('; ')}`, lost, remedy });
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      const elsewhere = 'restore it, or name the data folder of metadata with --metadata-dir if it has its own';
      report.problem({ path, what: 'is missing', lost, remedy: elsewhere });
    } else if (error instanceof AlmanacError && error.code === 'illegal_state') {
      report.problem({ path, what: error.message, lost: 'nothing', remedy: 'files were not compared' });
    } else {
      report.problem({ path, what: `cannot be read: ${reasonOf(error)}`, lost, remedy });
    }
  }
  return undefined;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
