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

interface KnownFile {
  readonly checked: Promise<void>;
  columns: Promise<FileColumns> | undefined;
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
  readonly #known = new Map<string, KnownFile>();

  constructor(store: LocalStore, connection: DuckDBConnection, confirmDataFolder: () => Promise<void>) {
    this.#store = store;
    this.#connection = connection;
    this.#confirmDataFolder = confirmDataFolder;
  }

  absolute(path: string): string {
    return this.#store.absolute(path);
  }

  /** @throws `storage_unavailable` naming the file if it is damaged; a missing file is an error of the disk. */
  async check(files: readonly ManifestFile[]): Promise<void> {
    for (const file of files) await this.#file(file).checked;
  }

  /** The columns of a file that was checked. */
  columnsOf(file: ManifestFile): Promise<FileColumns> {
    const known = this.#file(file);
    known.columns ??= this.#readColumns(file.path).catch((error: unknown) => {
      known.columns = undefined;
      throw error;
    });
    return known.columns;
  }

  #file(file: ManifestFile): KnownFile {
    let known = this.#known.get(file.path);
    if (known === undefined) {
      // Files come and go; what is forgotten is only read again.
      if (this.#known.size >= FILES_MAX) this.#known.clear();
      const checked = this.#confirmDataFolder().then(() => this.#store.verify(file));
      known = { checked, columns: undefined };
      this.#known.set(file.path, known);
      checked.catch(() => this.#known.delete(file.path));
    }
    return known;
  }

  async #readColumns(path: string): Promise<FileColumns> {
    const sql = `SELECT field_id, name FROM parquet_schema(${quoteText(this.absolute(path))}) WHERE field_id IS NOT NULL`;
    const rows = await (await this.#connection.run(sql)).getRows();
    return new Map(rows.map(([id, name]) => [Number(id), String(name)]));
  }
}
