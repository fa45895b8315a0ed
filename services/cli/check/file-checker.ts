import { openEngine, type DuckDBConnection, type DuckDBInstance } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { firstRow } from '#shared/duckdb/read';
import type { FileSystem } from '#shared/fs/file-system';
import { SID } from '#shared/schema/segment-columns';
import { LocalStore, type PublishedFile } from '#shared/segments/local-store';

/** What the catalog says of a segment or series file. */
export interface StoredFile extends PublishedFile {
  readonly path: string;
  readonly rowCount: number;
  readonly sidFirst: number;
  readonly sidLast: number;
}

/** The engine reads the ends of files only. */
const ENGINE_BYTES = 256 << 20;

/** Compares files of a store with what the catalog says of them. */
export class FileChecker {
  readonly #store: LocalStore;
  readonly #fs: FileSystem;
  /** None: only size and existence are compared. */
  readonly #engine: DuckDBInstance | undefined;
  readonly #connection: DuckDBConnection | undefined;

  private constructor(store: LocalStore, fs: FileSystem, engine?: DuckDBInstance, connection?: DuckDBConnection) {
    this.#store = store;
    this.#fs = fs;
    this.#engine = engine;
    this.#connection = connection;
  }

  /** @param scratch an empty folder, which the caller removes. */
  static async open(
    storeFolder: string,
    { fs, scratch, isQuick }: { readonly fs: FileSystem; readonly scratch: string; readonly isQuick: boolean },
  ): Promise<FileChecker> {
    const store = new LocalStore(storeFolder, fs);
    if (isQuick) return new FileChecker(store, fs);
    const engine = await openEngine({ threads: 1, memoryBytes: ENGINE_BYTES, spillFolder: scratch });
    const connection = await engine.connect();
    // No file is opened twice.
    await connection.run('SET parquet_metadata_cache = false');
    return new FileChecker(store, fs, engine, connection);
  }

  /** What is wrong with a file, as a predicate; undefined if nothing is. */
  async faultOf(file: StoredFile): Promise<string | undefined> {
    try {
      return await this.#faultOf(file);
    } catch (error) {
      return `cannot be read: ${reasonOf(error)}`;
    }
  }

  close(): void {
    this.#connection?.closeSync();
    this.#engine?.closeSync();
  }

  async #faultOf(file: StoredFile): Promise<string | undefined> {
    const bytes = await this.#fs.size(this.#store.absolute(file.path));
    if (bytes === undefined) return 'is missing';
    if (bytes !== file.bytes) return `is damaged: it has ${bytes} bytes instead of ${file.bytes}`;
    if (this.#connection === undefined) return undefined;
    const { crc32c } = await this.#store.sum(file.path);
    if (crc32c !== file.crc32c) return 'is damaged: its checksum does not match';
    return parquetFault(this.#connection, this.#store.absolute(file.path), file);
  }
}

async function parquetFault(
  connection: DuckDBConnection,
  absolute: string,
  { rowCount, sidFirst, sidLast }: StoredFile,
): Promise<string | undefined> {
  const path = quoteText(absolute);
  const [rows, first, last] = await firstRow(
    connection,
    `SELECT (SELECT num_rows FROM parquet_file_metadata(${path})),
       min(stats_min_value::UBIGINT), max(stats_max_value::UBIGINT)
     FROM parquet_metadata(${path}) WHERE path_in_schema = ${quoteText(SID)}`,
  );
  if (Number(rows) !== rowCount) return `has ${String(rows)} rows, the catalog says ${rowCount}`;
  // The catalog's may be wider: they were taken before deleted rows were left out.
  if (Number(first) >= sidFirst && Number(last) <= sidLast) return undefined;
  return `has series ${String(first)} to ${String(last)}, the catalog says ${sidFirst} to ${sidLast}`;
}

/** The engine adds hints in lines of their own. */
function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0];
}
