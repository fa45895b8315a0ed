import type { CatalogCopy, InspectedRegion } from '#services/metadata/index';
import type { Problem } from '#shared/errors/problem';
import type { FileSystem } from '#shared/fs/file-system';
import { LOCK_FILE } from '#shared/fs/folder-lock';
import { errorCode } from '#shared/fs/node-file-system';

import type { FileProgress } from '../progress.js';
import type { FileChecker } from './file-checker.js';
import { manifestFaults } from './manifest-faults.js';
import type { Report } from './report.js';

/** Dependencies of the checks of a store. */
export interface StoreCheck {
  readonly catalog: CatalogCopy;
  readonly files: FileChecker;
  readonly storeFolder: string;
  readonly fs: FileSystem;
  readonly report: Report;
  /** Reads the current catalog; the caller closes it. */
  readonly again: () => Promise<CatalogCopy>;
  readonly progress: FileProgress;
}

/** A problem with a file that a merge may have replaced since the catalog was read. */
interface Suspect {
  readonly regionId: number;
  readonly path: string;
  readonly problem: Problem;
}

/** Suspects that are collected before the catalog is read again to see whether they are still live. */
const SUSPECTS_MAX = 10_000;

/** Compares all regions of the catalog with the files of the store. */
export async function checkRegions(check: StoreCheck): Promise<void> {
  const suspects: Suspect[] = [];
  for (const region of check.catalog.regions()) {
    suspects.push(...(await suspectsOf(region, check)));
    if (suspects.length >= SUSPECTS_MAX) await confirm(suspects.splice(0), check);
  }
  await confirm(suspects, check);
}

async function suspectsOf(region: InspectedRegion, check: StoreCheck): Promise<Suspect[]> {
  const { files, report, storeFolder, progress } = check;
  const { manifest, table, name } = region;
  const { regionId } = manifest;
  const suspects: Suspect[] = [];
  const suspect = (path: string, what: string, lost: string, remedy: string): void => {
    suspects.push({ regionId, path, problem: { path: `${storeFolder}/${path}`, what, lost, remedy } });
  };
  for (const segment of manifest.segments) {
    for (const { what, isOfFile } of await files.faultsOfSegment(segment, table)) {
      if (isOfFile) suspect(segment.path, what, `${segment.rowCount} rows of ${name}`, RESTORE_SEGMENT);
      else suspect(segment.path, what, `no row, but queries of ${name} may miss rows or fail`, CATALOG_IS_WRONG);
    }
    report.segments.files++;
    report.segments.rows += segment.rowCount;
    report.segments.bytes += segment.bytes;
    progress.done(segment.bytes);
  }
  for (const file of manifest.seriesFiles) {
    const lost = `the tags of ${file.sidLast - file.sidFirst + 1} series of ${name}`;
    for (const { what, isOfFile } of await files.faultsOfSeries(file)) {
      if (isOfFile) suspect(file.path, what, lost, RESTORE_SERIES);
      else suspect(file.path, what, `no row, but ${name} may be unreadable`, CATALOG_IS_WRONG);
    }
    report.seriesFiles.files++;
    report.seriesFiles.bytes += file.bytes;
    progress.done(file.bytes);
  }
  for (const { path, what } of manifestFaults(manifest, table)) {
    suspect(path, what, `rows of ${name}: the catalog contradicts itself`, RESTORE_CATALOG);
  }
  return suspects;
}

const RESTORE_SEGMENT = 'restore the file from a backup; queries that need it fail until then, others continue to work';
const RESTORE_SERIES = 'restore the file from a backup; the table can be neither read nor written until then';
const RESTORE_CATALOG = 'restore the whole data folder from a backup, and keep this one for a report';
const CATALOG_IS_WRONG = `the file is whole, the catalog is damaged: ${RESTORE_CATALOG}`;

/** Reports the problems that still concern live files: a running server replaces files, and deletes them later. */
async function confirm(suspects: readonly Suspect[], { report, again }: StoreCheck): Promise<void> {
  if (suspects.length === 0) return;
  const catalog = await again();
  try {
    let live: { readonly regionId: number; readonly paths: ReadonlySet<string> } | undefined;
    for (const { regionId, path, problem } of suspects) {
      if (live?.regionId !== regionId) live = { regionId, paths: catalog.livePaths(regionId) };
      if (live.paths.has(path)) report.problem(problem);
    }
  } finally {
    catalog.close();
  }
}

/** Counts the files of the store that are neither live nor about to be deleted. */
export async function countOrphans(check: StoreCheck): Promise<void> {
  const { catalog, storeFolder, fs, report } = check;
  let live: { readonly folder: string; readonly paths: ReadonlySet<string> } | undefined;
  for await (const path of filesBelow('', check)) {
    const folder = path.slice(0, path.lastIndexOf('/'));
    if (live?.folder !== folder) live = { folder, paths: livePathsIn(folder, catalog) };
    if (live.paths.has(path) || catalog.isGarbage(path)) continue;
    report.orphans.files++;
    report.orphans.bytes += (await fs.size(`${storeFolder}/${path}`)) ?? 0;
  }
}

/** Returns the live files of the region with this folder, `<database id>/<table id>/<region id>`. */
function livePathsIn(folder: string, catalog: CatalogCopy): ReadonlySet<string> {
  const regionId = Number(folder.split('/').at(2));
  return Number.isInteger(regionId) ? catalog.livePaths(regionId) : new Set();
}

/** Lists the paths of all files below a folder of the store; unreadable folders are reported. */
async function* filesBelow(folder: string, check: StoreCheck): AsyncGenerator<string> {
  const { storeFolder, fs, report } = check;
  // Nearly all names are files, which need no further check.
  if (folder.endsWith('.parquet')) {
    yield folder;
    return;
  }
  const absolute = folder === '' ? storeFolder : `${storeFolder}/${folder}`;
  let names: readonly string[];
  try {
    names = await fs.list(absolute);
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR') yield folder;
    else report.problem(unreadable(absolute, error));
    return;
  }
  for (const name of names) {
    // The file collector or a backup holds the lock of the store.
    if (name !== LOCK_FILE) yield* filesBelow(folder === '' ? name : `${folder}/${name}`, check);
  }
}

function unreadable(path: string, error: unknown): Problem {
  return {
    path,
    what: `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    lost: 'its contents',
    remedy: 'run the check as the user of the server, or repair the disk',
  };
}
