import type { Clock } from '#shared/clock/clock';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { copyFile } from '#shared/fs/copy-file';
import { errorCode } from '#shared/fs/node-file-system';
import { LocalStore } from '#shared/segments/local-store';
import { MetadataCatalog } from './catalog.js';
import { inspectStore, type StoreFacts } from './store/open.js';

/** A region with its table and all its files. */
export interface InspectedRegion {
  /** Qualified table name, `database.table`. */
  readonly name: string;
  readonly table: Table;
  readonly manifest: RegionManifest;
}

/** Where the catalog is, and where to copy it. */
export interface CatalogCopyOptions {
  /** Folder of the catalog file. */
  readonly folder: string;
  /** An empty folder for the copy, which the caller removes. */
  readonly scratch: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
}

const FILE = 'almanac.db';
/** Committed changes that are not in the file yet. */
const LOG = 'almanac.db-wal';
/** Attempts to copy a file that changes all the time. */
const COPIES_MAX = 20;

/**
 * A snapshot of the catalog.
 *
 * Read from a copy: in write-ahead mode SQLite writes next to a file even when it only reads, so it could not open the
 * file on a read-only disk, or without creating others. A copy can also be migrated to the newest format.
 */
export class CatalogCopy {
  /** Format on the disk. */
  readonly format: number;
  /** Whether an earlier release wrote it; the copy has the newest format. */
  readonly isOlder: boolean;
  /** Faults of the file, mostly in SQLite's words. */
  readonly faults: readonly string[];
  readonly #catalog: MetadataCatalog | undefined;

  private constructor({ format, isOlder, faults }: StoreFacts, catalog: MetadataCatalog | undefined) {
    this.format = format;
    this.isOlder = isOlder;
    this.faults = faults;
    this.#catalog = catalog;
  }

  /**
   * Copies and opens the catalog.
   * @throws `storage_unavailable` if it cannot be read; `illegal_state` if a newer release wrote it; an error of the
   *   disk.
   */
  static async take({ folder, scratch, fs, clock }: CatalogCopyOptions): Promise<CatalogCopy> {
    await copyWhileUsed(folder, scratch, fs);
    const path = `${scratch}/${FILE}`;
    const facts = await inspectStore(path, fs);
    return new CatalogCopy(facts, facts.faults.length > 0 ? undefined : await MetadataCatalog.open(path, fs, clock));
  }

  /** Id of the cluster; empty if the file has faults. */
  get clusterId(): string {
    return this.#catalog?.identity.clusterId() ?? '';
  }

  /** Id of the data folder that has the files; empty if unknown. */
  get dataFolderId(): string {
    return this.#catalog?.identity.dataFolderId() ?? '';
  }

  /** Returns all regions, table by table; none if the file has faults. */
  *regions(): Generator<InspectedRegion> {
    const catalog = this.#catalog;
    if (catalog === undefined) return;
    for (const database of catalog.databases.list()) {
      for (const table of catalog.tables.list(database)) {
        for (const { regionId } of table.regions) {
          yield { name: `${database.name}.${table.name}`, table, manifest: catalog.manifest(regionId) };
        }
      }
    }
  }

  /** Returns undefined if the region's table was dropped. */
  region(regionId: number): Pick<RegionManifest, 'epoch' | 'watermark'> | undefined {
    return this.#catalog?.regions.find(regionId);
  }

  /** Returns the paths of all live files of a region; none if its table was dropped. */
  livePaths(regionId: number): ReadonlySet<string> {
    const store = this.#catalog?.segments;
    const files = store === undefined ? [] : [...store.ofRegion(regionId), ...store.seriesFilesOf(regionId)];
    return new Set(files.map(({ path }) => path));
  }

  /** Returns whether the file was live and is to be deleted. */
  isGarbage(path: string): boolean {
    return this.#catalog?.segments.isGarbage(path) ?? false;
  }

  close(): void {
    this.#catalog?.close();
  }
}

/**
 * Copies the file and then its log, until the file is the same before and after: then no checkpoint changed the file
 * meanwhile. Later additions to the log do no harm, because an unfinished end counts as never written.
 */
async function copyWhileUsed(folder: string, scratch: string, fs: FileSystem): Promise<void> {
  const [source, target] = [new LocalStore(folder, fs), new LocalStore(scratch, fs)];
  for (let i = 0; i < COPIES_MAX; i++) {
    for (const name of [FILE, LOG]) await fs.remove(`${scratch}/${name}`);
    await copyFile(fs, `${folder}/${FILE}`, `${scratch}/${FILE}`);
    await copyFile(fs, `${folder}/${LOG}`, `${scratch}/${LOG}`).catch(unlessMissing);
    const [copied, present] = [await target.sum(FILE), await source.sum(FILE)];
    if (copied.bytes === present.bytes && copied.crc32c === present.crc32c) return;
  }
  throw new AlmanacError('storage_unavailable', 'the catalog changes faster than it can be copied: try again');
}

/** SQLite removes the log when metadata stops normally. */
function unlessMissing(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error;
}
