import type { DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import type { LocalStore } from '#shared/segments/local-store';

interface ManifestFile {
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

/** Names of a file's columns by column id. */
export type FileColumns = ReadonlyMap<number, string>;

const FILES_MAX = 100_000;
/** Files that are checked at a time. */
const CHECKS_MAX = 8;

/** What a file's columns follow from. */
interface SegmentForm {
  readonly path: string;
  readonly schemaVersion: number;
  readonly hasMetrics: boolean;
  readonly hasOps: boolean;
}

/**
 * What this process knows of the files that it reads: that each is whole, and which columns it has.
 *
 * A file's checksum is compared with the manifest's before it is read for the first time, because a flipped bit in a
 * Parquet file gives wrong numbers without an error more often than not.
 */
export class SegmentFiles {
  readonly #store: LocalStore;
  readonly #connection: DuckDBConnection;
  readonly #confirmDataFolder: () => Promise<void>;
  readonly #checked = new Map<string, Promise<void>>();
  /** By folder and form: files of the same have the same columns, in one object. */
  readonly #columns = new Map<string, Promise<FileColumns>>();

  constructor(store: LocalStore, connection: DuckDBConnection, confirmDataFolder: () => Promise<void>) {
    this.#store = store;
    this.#connection = connection;
    this.#confirmDataFolder = confirmDataFolder;
  }

  absolute(path: string): string {
    return this.#store.absolute(path);
  }

  /** @throws `storage_unavailable` naming the file if it is damaged; `MissingFile` if it is not there. */
  async check(files: readonly ManifestFile[]): Promise<void> {
    for (let at = 0; at < files.length; at += CHECKS_MAX) {
      await Promise.all(files.slice(at, at + CHECKS_MAX).map((file) => this.#check(file)));
    }
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
    let checked = this.#checked.get(file.path);
    if (checked === undefined) {
      // Files come and go; what is forgotten is only read again.
      if (this.#checked.size >= FILES_MAX) this.#checked.clear();
      checked = this.#confirmDataFolder().then(() => this.#store.verify(file));
      this.#checked.set(file.path, checked);
      checked.catch(() => this.#checked.delete(file.path));
    }
    return checked;
  }

  async #readColumns(path: string): Promise<FileColumns> {
    const sql = `SELECT field_id, name FROM parquet_schema(${quoteText(this.absolute(path))}) WHERE field_id IS NOT NULL`;
    const rows = await (await this.#connection.run(sql)).getRows();
    return new Map(rows.map(([id, name]) => [Number(id), String(name)]));
  }
}
