import { loggedIds, loggedPositions, findLogFolder, type LoggedPosition } from '#services/ingester/index';
import { CatalogFile, type CatalogEntry } from '#services/metadata/index';
import type { Clock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import type { FileSystem } from '#shared/fs/file-system';
import { LocalStore } from '#shared/segments/local-store';

import { CommandFailure, EXIT } from '../command.js';
import type { SqlConnection } from '../sql/connection.js';
import { flushUpTo, isBehind } from './flush.js';
import { CATALOG_FILE, STORE_FOLDER, writeList, type BackupFile } from './list.js';
import { checkApart, checkEmpty, makeDurably } from './places.js';
import type { FileProgress } from '../progress.js';
import { removeFiles, syncFile, takeFiles } from './take-files.js';

/** Options of `writeBackup`. */
export interface BackupOptions {
  /** Absolute path of the running instance's data folder. */
  readonly dataFolder: string;
  /** Folder of its log, if that is not in the data folder. */
  readonly walDir: string | undefined;
  /** Absolute path of a folder that is empty or does not exist. */
  readonly target: string;
  /** Connection to its server. */
  readonly connection: SqlConnection;
  readonly mayLink: boolean;
  readonly progress: FileProgress;
  /** Release that writes the backup. */
  readonly version: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
}

/** Result of a backup. */
export interface WrittenBackup {
  readonly begun: string;
  readonly fileCount: number;
  /** Number of files that are hard links to the data folder. */
  readonly linkedCount: number;
  readonly bytes: number;
}

/** One run of file collection takes less, unless it has very many files to delete. */
const HOLD_MS_MAX = 60_000;
const HOLD_REST_MS = 50;

/**
 * Backs up an instance while it runs, in a process beside its server.
 *
 * The server does not write the backup, so no listener gets a way to write files where a client wants them, and the operating
 * system decides who may read the data folder. The server only flushes tables, which any client may request. The result is
 * verified in the log and the catalog: every row that was in the log when the backup began must be at or below a watermark of
 * the copied catalog.
 *
 * The order matters. File collection is blocked before the catalog is copied, so that every file that the copy names stays
 * until it is taken; the kernel ends the block when this process dies. Batch IDs are read after the catalog was copied: those
 * of its rows are still in the log then. The list of files is written last, when everything else is durable.
 *
 * @throws `CommandFailure` or `AlmanacError`; everything written so far is removed then.
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
    // The first failure is the one to report.
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
    const taken = await takeFiles(files, { fs, source: dataFolder, target, mayLink, progress: options.progress });
    await syncFile(fs, `${target}/${CATALOG_FILE}`);
    await fs.syncFolder(`${target}/metadata`);
    const copy = { path: CATALOG_FILE, ...(await new LocalStore(target, fs).sum(CATALOG_FILE)) };
    await writeList(fs, target, { begun, version, ...identity, files: [copy, ...files] });
    return { begun, fileCount: files.length + 1, linkedCount: taken.linked, bytes: taken.bytes + copy.bytes };
  } finally {
    catalog.close();
  }
}

/** Changes the copied catalog so that any node can start from it. @returns its files and former owners. */
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
    // Watermarks only rise, so a region below its position here is a bug.
    const lacking = regions.find((region) => isBehind(region, positions.get(region.regionId)));
    invariant(lacking === undefined, `region ${lacking?.regionId} lags its log in the copied catalog`);
    // Logs of the owners at the time of the copy: regions may have moved since the backup began.
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

/** Blocks file collection in the store, waiting for a running one. @returns the function that unblocks it. */
async function holdFiles({ dataFolder, fs, clock }: BackupOptions): Promise<() => void> {
  const store = new LocalStore(`${dataFolder}/${STORE_FOLDER}`, fs);
  const untilMs = clock.monotonicMs() + HOLD_MS_MAX;
  for (;;) {
    const release = store.tryHold();
    if (release !== undefined) return release;
    if (clock.monotonicMs() > untilMs) {
      throw new CommandFailure(EXIT.failed, `error: another backup of "${dataFolder}" is running`);
    }
    await clock.sleep(HOLD_REST_MS);
  }
}
