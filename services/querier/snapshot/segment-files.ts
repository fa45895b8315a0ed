import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { mayBeOfFile } from '#shared/duckdb/errors';
import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileStamp } from '#shared/fs/file-system';
import type { LocalStore } from '#shared/segments/local-store';

export interface ManifestFile {
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

/** Names of a file's columns by column id. */
export type FileColumns = ReadonlyMap<number, string>;

const FILES_MAX = 100_000;
/** Files that are checked at a time. */
const CHECKS_MAX = 8;
/** A file's stamp is looked at so often at most: on a disk behind a network that may take long. */
const LOOK_MS = 1_000;
/** What a look takes, as so many numbers: 3 us on a local disk. */
const LOOK_WORK = 128;
/** However many queries fail, a file is read again for that so often at most. */
const VERIFY_AGAIN_MS = 10_000;

/** What a file's columns follow from. */
interface SegmentForm {
  readonly path: string;
  readonly schemaVersion: number;
  readonly hasMetrics: boolean;
  readonly hasOps: boolean;
}

export interface SegmentFilesDeps {
  readonly store: LocalStore;
  readonly connection: DuckDBConnection;
  /** Before the first look at a file. */
  readonly confirmDataFolder: () => Promise<void>;
  readonly clock: Clock;
}

/** A file that was, or is being, compared with its checksum. */
interface Checked {
  readonly whole: Promise<void>;
  /** From before it was read. */
  readonly stamp: FileStamp | undefined;
  /** When reading began; infinite while it goes on, so that others wait for it, however long that is. */
  sinceMs: number;
  lookedMs: number;
}

/**
 * What this process knows of the files that it reads: that each is whole, and which columns it has.
 *
 * A file's checksum is compared with the manifest's before it is read for the first time, because a flipped bit in a
 * Parquet file gives wrong numbers without an error more often than not; and again when its stamp has changed, or when
 * the engine fails as it does over damaged files.
 */
export class SegmentFiles {
  readonly #store: LocalStore;
  readonly #connection: DuckDBConnection;
  readonly #confirmDataFolder: () => Promise<void>;
  readonly #clock: Clock;
  readonly #checked = new Map<string, Checked>();
  /**
   * The engine keeps what it has read under a file's name, as long as the second of its last change stays: a file that
   * was damaged meanwhile and is put back goes by another name, `./` and the same.
   */
  readonly #detours = new Map<string, string>();
  /** By folder and form: files of the same have the same columns, in one object. */
  readonly #columns = new Map<string, Promise<FileColumns>>();

  constructor({ store, connection, confirmDataFolder, clock }: SegmentFilesDeps) {
    this.#store = store;
    this.#connection = connection;
    this.#confirmDataFolder = confirmDataFolder;
    this.#clock = clock;
  }

  /** What the engine is to call a file. */
  absolute(path: string): string {
    return this.#store.absolute(`${this.#detours.get(path) ?? ''}${path}`);
  }

  /** @throws `storage_unavailable` naming the file if it is damaged; `MissingFile` if it is not there. */
  async check(files: readonly ManifestFile[]): Promise<void> {
    const slices = new Slices(this.#clock);
    for (const some of inGroups(files)) {
      await Promise.all(some.map((file) => this.#check(file)));
      if (slices.isOver(CHECKS_MAX * LOOK_WORK)) await slices.yield();
    }
  }

  /** As `check`, of files that may have been merged away: one that has to be read for that is refused, and not told of. */
  async checkKnown(files: readonly ManifestFile[]): Promise<void> {
    const slices = new Slices(this.#clock);
    for (const { path } of files) {
      const known = this.#known(path);
      if (known === undefined) throw new AlmanacError('storage_unavailable', `"${path}" has to be read anew`);
      await known.whole;
      if (slices.isOver(LOOK_WORK)) await slices.yield();
    }
  }

  /**
   * Reads files that were checked.
   *
   * @throws what `reasonOf` says.
   */
  async reading<T>(files: readonly ManifestFile[], read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw await this.reasonOf(error, files, signal);
    }
  }

  /**
   * Why a read of files failed that were checked: if it may be a file, all are compared with their checksums once more.
   *
   * @param signal ends that.
   * @returns the error of a file that is damaged or missing; what was thrown if all are whole.
   */
  async reasonOf(thrown: unknown, files: readonly ManifestFile[], signal?: AbortSignal): Promise<unknown> {
    if (!mayBeOfFile(thrown)) return thrown;
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

  /** What is known of a file may not be true any more. */
  suspect(path: string): void {
    if (this.#checked.delete(path)) this.#avoid(path);
  }

  /** The columns of a segment that was checked; the same object for all that have the same columns for the same reason. */
  columnsOf({ path, schemaVersion, hasMetrics, hasOps }: SegmentForm): Promise<FileColumns> {
    const key = `${path.slice(0, path.lastIndexOf('/'))} ${schemaVersion} ${hasMetrics} ${hasOps}`;
    let columns = this.#columns.get(key);
    if (columns === undefined) {
      columns = this.#readColumns(path);
      this.#columns.set(key, columns);
      columns.catch(() => this.#columns.delete(key));
    }
    return columns;
  }

  #check(file: ManifestFile): Promise<void> {
    return (this.#known(file.path) ?? this.#verify(file)).whole;
  }

  /** What is known of a file, unless it was changed since. */
  #known(path: string): Checked | undefined {
    const known = this.#checked.get(path);
    if (known === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - known.lookedMs < LOOK_MS) return known;
    if (!isSame(known.stamp, this.#store.stamp(path))) return undefined;
    known.lookedMs = nowMs;
    return known;
  }

  async #checkAgain(file: ManifestFile): Promise<void> {
    const known = this.#checked.get(file.path);
    const isRecent = known !== undefined && this.#clock.monotonicMs() - known.sinceMs < VERIFY_AGAIN_MS;
    const isNeeded = !isRecent || !isSame(known.stamp, this.#store.stamp(file.path));
    await (isNeeded ? this.#verify(file) : known).whole;
  }

  #verify(file: ManifestFile): Checked {
    // Files come and go; what is forgotten is only read again.
    if (this.#checked.size >= FILES_MAX) this.#checked.clear();
    const nowMs = this.#clock.monotonicMs();
    const wasRead = this.#checked.has(file.path);
    const checked: Checked = {
      stamp: this.#store.stamp(file.path),
      whole: this.#confirmDataFolder().then(() => this.#store.verify(file)),
      sinceMs: Infinity,
      lookedMs: nowMs,
    };
    this.#checked.set(file.path, checked);
    checked.whole.then(
      () => (checked.sinceMs = nowMs),
      () => {
        if (this.#checked.get(file.path) === checked) this.#checked.delete(file.path);
        if (wasRead) this.#avoid(file.path);
      },
    );
    return checked;
  }

  #avoid(path: string): void {
    if (this.#detours.size >= FILES_MAX) this.#detours.clear();
    this.#detours.set(path, `${this.#detours.get(path) ?? ''}./`);
  }

  async #readColumns(path: string): Promise<FileColumns> {
    const sql = `SELECT field_id, name FROM parquet_schema(${quoteText(this.absolute(path))}) WHERE field_id IS NOT NULL`;
    const rows = await (await this.#connection.run(sql)).getRows();
    return new Map(rows.map(([id, name]) => [Number(id), String(name)]));
  }
}

function* inGroups(files: readonly ManifestFile[]): Generator<readonly ManifestFile[]> {
  for (let at = 0; at < files.length; at += CHECKS_MAX) yield files.slice(at, at + CHECKS_MAX);
}

/** Those that the engine names come before the others: it is one of them. */
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
