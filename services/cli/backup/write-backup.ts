import { loggedIds, loggedPositions, findLogFolder, type LoggedPosition } from '#services/ingester/index';
import { CatalogFile, type CatalogEntry } from '#services/metadata/index';
import type { Clock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import type { FileSystem } from '#shared/fs/file-system';
import { LocalStore } from '#shared/segments/local-store';

import { CommandFailure, EXIT } from '../command.js';
import type { Connection } from '../sql/connection.js';
import { flushUpTo, isBehind } from './flush.js';
import { CATALOG_FILE, STORE_FOLDER, writeList, type BackupFile } from './list.js';
import { checkApart, checkEmpty, makeDurably } from './places.js';
import { removeFiles, syncFile, takeFiles } from './take-files.js';

export interface BackupOptions {
  /** Of the running instance; absolute. */
  readonly dataFolder: string;
  /** Where its log is, if not in the data folder. */
  readonly walDir: string | undefined;
  /** A folder that is empty or not there; absolute. */
  readonly target: string;
  /** To its server. */
  readonly connection: Connection;
  readonly mayLink: boolean;
  /** Release that writes the backup. */
  readonly version: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
}

export interface WrittenBackup {
  readonly begun: string;
  readonly fileCount: number;
  /** Of the files, those that share their bytes with the data folder. */
  readonly linkedCount: number;
  readonly bytes: number;
}

/** A turn of file collection takes less, unless it has very many files to delete. */
const HOLD_MS_MAX = 60_000;
const HOLD_REST_MS = 50;

/**
 * Backs up an instance while it runs, beside its server.
 *
 * This process does the work, not the server: no listener gets a way to write files where a client wants them, and who
 * may read the data folder is for the system to say. The server is asked for one thing that every client may ask for,
 * to flush tables. That it has done so is read from its log and its catalog, not believed: every row that the log had
 * when the backup began must be at or below a watermark of the catalog that is copied.
 *
 * The order matters. Collection of files is held before the catalog is copied, so that every file that the copy names
 * stays until it is taken; the kernel ends the hold with this process. Ids of batches are read after the catalog was
 * copied: those whose rows it has are still in the log then. The list of files comes last, when all else is durable.
 *
 * @throws `CommandFailure` or `AlmanacError`; what was written is removed then.
 */
export async function writeBackup(options: BackupOptions): Promise<WrittenBackup> {
  const { dataFolder, target, fs } = options;
  await checkCatalog(dataFolder, fs);
  for (const part of ['', `/${STORE_FOLDER}`, '/metadata', '/slots']) await checkApart(`${dataFolder}${part}`, target);
  await checkEmpty(fs, target, []);
  const release = await holdFiles(options);
  try {
    await makeDurably(fs, target);
    return await write(options);
  } catch (error) {
    // What went wrong first is what has to be told.
    await removeFiles(fs, target).catch(() => undefined);
    throw error;
  } finally {
    release();
  }
}

async function write(options: BackupOptions): Promise<WrittenBackup> {
  const { dataFolder, target, connection, mayLink, version, fs, clock } = options;
  const begun = new Date(clock.nowMs()).toISOString();
  const catalog = CatalogFile.read(`${dataFolder}/${CATALOG_FILE}`);
  try {
    const positions = await loggedPositions(await logsOf(catalog, options), fs);
    await flushUpTo({ catalog, positions, connection, clock });
    await fs.makeFolder(`${target}/metadata`);
    await catalog.copyTo(`${target}/${CATALOG_FILE}`);
    const { entries, ...identity } = await releaseCopy(positions, options);
    const files = entries.map(({ path, ...sum }): BackupFile => ({ path: `${STORE_FOLDER}/${path}`, ...sum }));
    const taken = await takeFiles(files, { fs, source: dataFolder, target, mayLink });
    await syncFile(fs, `${target}/${CATALOG_FILE}`);
    await fs.syncFolder(`${target}/metadata`);
    const copy = { path: CATALOG_FILE, ...(await new LocalStore(target, fs).sum(CATALOG_FILE)) };
    await writeList(fs, target, { begun, version, ...identity, files: [copy, ...files] });
    return { begun, fileCount: files.length + 1, linkedCount: taken.linked, bytes: taken.bytes + copy.bytes };
  } finally {
    catalog.close();
  }
}

/** Makes the copied catalog one from which any node can start. @returns what it names, and whose it was. */
async function releaseCopy(
  positions: ReadonlyMap<number, LoggedPosition>,
  options: BackupOptions,
): Promise<{ clusterId: string; catalogVersion: string; entries: readonly CatalogEntry[] }> {
  const { target, fs } = options;
  const copy = await CatalogFile.own(`${target}/${CATALOG_FILE}`, fs);
  try {
    const { clusterId } = copy;
    const catalogVersion = String(copy.version);
    const regions = copy.regions();
    // Watermarks only rise; what this would find is a bug.
    const lacking = regions.find((region) => isBehind(region, positions.get(region.regionId)));
    invariant(lacking === undefined, `region ${lacking?.regionId} is behind its log in the copied catalog`);
    // Of whoever owned the regions when the catalog was copied: some may have moved since the backup began.
    const logs = await logsOf(copy, options);
    copy.release(await loggedIds(logs, regions, copy.appliedIds(), fs));
    copy.renewIdentity();
    return { clusterId, catalogVersion, entries: copy.entries() };
  } finally {
    copy.close();
  }
}

async function logsOf(catalog: CatalogFile, { dataFolder, walDir, fs }: BackupOptions): Promise<string[]> {
  return Promise.all(catalog.owners().map((owner) => findLogFolder(owner, { dataFolder, walDir, fs })));
}

async function checkCatalog(dataFolder: string, fs: FileSystem): Promise<void> {
  if ((await fs.size(`${dataFolder}/${CATALOG_FILE}`)) !== undefined) return;
  const text =
    `error: "${dataFolder}" has no ${CATALOG_FILE}: name the data folder of the instance (--data-dir); ` +
    'of a cluster, metadata must have the same one as the ingesters';
  throw new CommandFailure(EXIT.usage, text);
}

/** Waits until nobody collects files of the store any more. @returns lets them go. */
async function holdFiles({ dataFolder, fs, clock }: BackupOptions): Promise<() => void> {
  const store = new LocalStore(`${dataFolder}/${STORE_FOLDER}`, fs);
  const untilMs = clock.monotonicMs() + HOLD_MS_MAX;
  for (;;) {
    const release = store.tryHold();
    if (release !== undefined) return release;
    if (clock.monotonicMs() > untilMs) {
      throw new CommandFailure(EXIT.failed, `error: another backup of "${dataFolder}" is under way`);
    }
    await clock.sleep(HOLD_REST_MS);
  }
}
