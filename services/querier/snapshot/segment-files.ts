import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { mayBeOfFile } from '#shared/duckdb/errors';
import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileStamp } from '#shared/fs/file-system';
import type { LocalStore } from '#shared/segments/local-store';

/** Path, size and checksum of a file as a manifest lists it. */
export interface ManifestFile {
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

/** Column names of a file by column ID. */
export type FileColumns = ReadonlyMap<number, string>;

const FILES_MAX = 100_000;
/** Files that are verified in parallel. */
const CHECKS_MAX = 8;
/** Minimum time between two `stat` calls for a file, which are slow on a network file system. */
const STAT_INTERVAL_MS = 1_000;
/** Cost of a `stat` call, in units of reading one number: 3 us on a local disk. */
const STAT_WORK = 128;
/** Minimum time between two verifications of a file, no matter how many queries fail. */
const VERIFY_AGAIN_MS = 10_000;

/** The properties that determine a file's columns. */
interface ColumnsSource {
  readonly path: string;
  readonly schemaVersion: number;
  readonly hasMetrics: boolean;
  readonly hasOps: boolean;
  /** If set, the columns depend on the rows too. */
  readonly hasScaled?: boolean | undefined;
}

/** Collaborators of a `SegmentFiles`. */
export interface SegmentFilesDeps {
  readonly store: LocalStore;
  readonly connection: DuckDBConnection;
  /** Called before each verification of a file. */
  readonly confirmDataFolder: () => Promise<void>;
  readonly clock: Clock;
}

/** Result of comparing a file with its checksum, possibly still in progress. */
interface FileCheck {
  /** Rejects if the file is damaged or missing. */
  readonly done: Promise<void>;
  /** Stamp of the file before it was read. */
  readonly stamp: FileStamp | undefined;
  /** Start of the verification; infinite while it is running, so that all callers wait for it. */
  startedMs: number;
  statMs: number;
}

/** Why a segment was not read outside of the engine: it may be damaged. */
export class UnreadableSegment extends Error {}

/**
 * State of the files that this process reads: whether each is intact, and its columns.
 *
 * A file's checksum is compared with the manifest's before the first read, because a flipped bit in a Parquet file usually
 * gives wrong numbers without an error. It is compared again when the file's stamp changes, or when the engine fails in a
 * way that a damaged file can cause.
 */
export class SegmentFiles {
  readonly #store: LocalStore;
  readonly #connection: DuckDBConnection;
  readonly #confirmDataFolder: () => Promise<void>;
  readonly #clock: Clock;
  readonly #checked = new Map<string, FileCheck>();
  /**
   * Prefixes that give a file a new name (`./`, repeated). The engine caches a file's contents by name until the second of
   * its last change differs, so a damaged file that was repaired needs another name.
   */
  readonly #detours = new Map<string, string>();
  /** Columns by folder and properties, or by path. */
  readonly #columns = new Map<string, Promise<FileColumns>>();
  /** Those that have been read. */
  readonly #readyColumns = new Map<string, FileColumns>();
  /** One object for each set of columns. */
  readonly #distinctColumns = new Map<string, FileColumns>();

  constructor({ store, connection, confirmDataFolder, clock }: SegmentFilesDeps) {
    this.#store = store;
    this.#connection = connection;
    this.#confirmDataFolder = confirmDataFolder;
    this.#clock = clock;
  }

  /** Returns the path by which the engine must open a file. */
  absolute(path: string): string {
    return this.#store.absolute(this.nameOf(path));
  }

  /** Returns the name by which a file must be opened, which differs after it was damaged, for caches by name. */
  nameOf(path: string): string {
    return `${this.#detours.get(path) ?? ''}${path}`;
  }

  /** Verifies files. @throws `storage_unavailable` naming a damaged file; `MissingFile` when a file does not exist. */
  async check(files: readonly ManifestFile[]): Promise<void> {
    const slices = new Slices(this.#clock);
    for (const some of inGroups(files)) {
      await Promise.all(some.map((file) => this.#check(file)));
      if (slices.isOver(CHECKS_MAX * STAT_WORK)) await slices.yield();
    }
  }

  /** Like `check`, for files that may have been merged away: rejects a file that was not verified yet, without an alarm. */
  async checkKnown(files: readonly ManifestFile[]): Promise<void> {
    const slices = new Slices(this.#clock);
    for (const { path } of files) {
      const known = this.#known(path);
      if (known === undefined) throw new AlmanacError('storage_unavailable', `"${path}" must be verified again`);
      await known.done;
      if (slices.isOver(STAT_WORK)) await slices.yield();
    }
  }

  /** Reports whether files are known to be intact, without waiting: half a millisecond for 128 that need a `stat` call. */
  areIntact(files: readonly ManifestFile[]): boolean {
    return files.every(({ path }) => {
      const known = this.#known(path);
      return known !== undefined && known.startedMs !== Infinity;
    });
  }

  /**
   * Runs `read` over files that were checked.
   *
   * @throws the result of `reasonOf` when `read` fails.
   */
  async readChecked<T>(files: readonly ManifestFile[], read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw await this.reasonOf(error, files, signal);
    }
  }

  /**
   * Finds out why a read of checked files failed: if a file may be the cause, verifies all of them again.
   *
   * @param signal stops the verification
   * @returns the error of a damaged or missing file, or `thrown` if all are intact
   */
  async reasonOf(thrown: unknown, files: readonly ManifestFile[], signal?: AbortSignal): Promise<unknown> {
    const isUnreadable = thrown instanceof AlmanacError && thrown.cause instanceof UnreadableSegment;
    if (!isUnreadable && !mayBeOfFile(thrown)) return thrown;
    try {
      for (const some of groupsToSuspect(thrown, files)) {
        if (signal?.aborted === true) break;
        await Promise.all(some.map((file) => this.#checkAgain(file)));
      }
    } catch (error) {
      return error;
    }
    return thrown;
  }

  /** Discards what is known about a file, because it may have changed. */
  invalidate(path: string): void {
    if (this.#checked.delete(path)) this.#addDetour(path);
  }

  /** Returns the columns of a checked segment; the same object for segments that have the same columns. */
  columnsOf(segment: ColumnsSource): Promise<FileColumns> {
    const key = columnsKey(segment);
    let columns = this.#columns.get(key);
    if (columns === undefined) {
      if (this.#columns.size >= FILES_MAX) this.#forgetColumns();
      columns = this.#readColumns(segment.path);
      this.#columns.set(key, columns);
      columns.then(
        (read) => this.#readyColumns.set(key, read),
        () => this.#columns.delete(key),
      );
    }
    return columns;
  }

  /** Does what `columnsOf` does without waiting; undefined if the file must be read first. */
  readyColumnsOf(segment: ColumnsSource): FileColumns | undefined {
    return this.#readyColumns.get(columnsKey(segment));
  }

  #forgetColumns(): void {
    this.#columns.clear();
    this.#readyColumns.clear();
  }

  #check(file: ManifestFile): Promise<void> {
    return (this.#known(file.path) ?? this.#verify(file)).done;
  }

  /** Returns the last check of a file, unless the file has changed since. */
  #known(path: string): FileCheck | undefined {
    const known = this.#checked.get(path);
    if (known === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - known.statMs < STAT_INTERVAL_MS) return known;
    if (!isSame(known.stamp, this.#store.stamp(path))) return undefined;
    known.statMs = nowMs;
    return known;
  }

  async #checkAgain(file: ManifestFile): Promise<void> {
    const known = this.#checked.get(file.path);
    const isRecent = known !== undefined && this.#clock.monotonicMs() - known.startedMs < VERIFY_AGAIN_MS;
    const isNeeded = !isRecent || !isSame(known.stamp, this.#store.stamp(file.path));
    await (isNeeded ? this.#verify(file) : known).done;
  }

  #verify(file: ManifestFile): FileCheck {
    // Limits the memory for files that no longer exist; a removed entry only costs another verification.
    if (this.#checked.size >= FILES_MAX) this.#checked.clear();
    const nowMs = this.#clock.monotonicMs();
    const wasRead = this.#checked.has(file.path);
    const checked: FileCheck = {
      stamp: this.#store.stamp(file.path),
      done: this.#confirmDataFolder().then(() => this.#store.verify(file)),
      startedMs: Infinity,
      statMs: nowMs,
    };
    this.#checked.set(file.path, checked);
    checked.done.then(
      () => (checked.startedMs = nowMs),
      () => {
        if (this.#checked.get(file.path) === checked) this.#checked.delete(file.path);
        if (wasRead) this.#addDetour(file.path);
      },
    );
    return checked;
  }

  #addDetour(path: string): void {
    if (this.#detours.size >= FILES_MAX) this.#detours.clear();
    this.#detours.set(path, `${this.#detours.get(path) ?? ''}./`);
  }

  async #readColumns(path: string): Promise<FileColumns> {
    const sql = `SELECT field_id, name FROM parquet_schema(${quoteText(this.absolute(path))}) WHERE field_id IS NOT NULL`;
    const rows = await (await this.#connection.run(sql)).getRows();
    const columns = rows.map(([id, name]): [number, string] => [Number(id), String(name)]);
    const key = JSON.stringify(columns);
    const known = this.#distinctColumns.get(key);
    if (known !== undefined) return known;
    if (this.#distinctColumns.size >= FILES_MAX) this.#distinctColumns.clear();
    const distinct = new Map(columns);
    this.#distinctColumns.set(key, distinct);
    return distinct;
  }
}

function columnsKey({ path, schemaVersion, hasMetrics, hasOps, hasScaled }: ColumnsSource): string {
  if (hasScaled === true) return path;
  return `${path.slice(0, path.lastIndexOf('/'))} ${schemaVersion} ${hasMetrics} ${hasOps}`;
}

function* inGroups(files: readonly ManifestFile[]): Generator<readonly ManifestFile[]> {
  for (let at = 0; at < files.length; at += CHECKS_MAX) yield files.slice(at, at + CHECKS_MAX);
}

/** Groups the files for verification, those that the engine's message names first. */
function groupsToSuspect(thrown: unknown, files: readonly ManifestFile[]): readonly (readonly ManifestFile[])[] {
  const text = textOf(thrown instanceof AlmanacError ? thrown.cause : thrown);
  const isNamed = ({ path }: ManifestFile): boolean => text.includes(path);
  return [...inGroups(files.filter(isNamed)), ...inGroups(files.filter((file) => !isNamed(file)))];
}

function isSame(one: FileStamp | undefined, other: FileStamp | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.bytes === other.bytes && one.modifiedMs === other.modifiedMs && one.inode === other.inode;
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : '';
}
