import type { SeriesFile, Segment, Table } from '#shared/contracts/gen/common';
import { openEngine, type DuckDBConnection, type DuckDBInstance } from '#shared/duckdb/engine';
import type { FileSystem } from '#shared/fs/file-system';
import { timeIndexOf } from '#shared/schema/table-schema';
import { LocalStore, type PublishedFile } from '#shared/segments/local-store';

import { boundsOfFile, type FileBounds, type Range } from './file-bounds.js';

/** Something wrong with a file, or with its entry in the catalog. */
export interface FileFault {
  /** A predicate; the file is what it is about. */
  readonly what: string;
  /** Whether the file itself is at fault; false if it is as it was written. */
  readonly isOfFile: boolean;
}

/** The members needed to compare a file. */
type NamedFile = PublishedFile & { readonly path: string };

/** The engine reads two or three columns of a file at a time. */
const ENGINE_BYTES = 256 << 20;

/** Compares files of a store with their entries in the catalog. */
export class FileChecker {
  readonly #store: LocalStore;
  readonly #fs: FileSystem;
  /** Undefined: only size and existence are compared. */
  readonly #engine: DuckDBInstance | undefined;
  readonly #connection: DuckDBConnection | undefined;

  private constructor(store: LocalStore, fs: FileSystem, engine?: DuckDBInstance, connection?: DuckDBConnection) {
    this.#store = store;
    this.#fs = fs;
    this.#engine = engine;
    this.#connection = connection;
  }

  /** Opens a checker. @param scratch an empty folder, which the caller removes. */
  static async open(
    storeFolder: string,
    { fs, scratch, isQuick }: { readonly fs: FileSystem; readonly scratch: string; readonly isQuick: boolean },
  ): Promise<FileChecker> {
    const store = new LocalStore(storeFolder, fs);
    if (isQuick) return new FileChecker(store, fs);
    const engine = await openEngine({ threads: 1, memoryBytes: ENGINE_BYTES, spillFolder: scratch });
    const connection = await engine.connect();
    // No file is opened twice, so caching would only use memory.
    await connection.run('SET parquet_metadata_cache = false');
    return new FileChecker(store, fs, engine, connection);
  }

  async faultsOfSegment(segment: Segment, table: Table): Promise<FileFault[]> {
    return this.#faultsOf(segment, async (connection, absolute) => {
      return segmentFaults(segment, await boundsOfFile(connection, absolute, timeIndexOf(table)));
    });
  }

  async faultsOfSeries(file: SeriesFile): Promise<FileFault[]> {
    return this.#faultsOf(file, async (connection, absolute) => {
      const found = await boundsOfFile(connection, absolute);
      const { sidFirst: first, sidLast: last } = file;
      return [...countFaults(found.rowCount, last - first + 1), ...rangeFaults('series', found.sids, { first, last })];
    });
  }

  close(): void {
    this.#connection?.closeSync();
    this.#engine?.closeSync();
  }

  /** @param compare compares an intact file with its entry. @returns each fault once; an empty list if there is none. */
  async #faultsOf(
    file: NamedFile,
    compare: (connection: DuckDBConnection, absolute: string) => Promise<string[]>,
  ): Promise<FileFault[]> {
    let damage: string | undefined;
    try {
      damage = await this.#damageOf(file);
    } catch (error) {
      damage = `cannot be read: ${reasonOf(error)}`;
    }
    if (damage !== undefined) return [{ what: damage, isOfFile: true }];
    if (this.#connection === undefined) return [];
    const differences = await compare(this.#connection, this.#store.absolute(file.path)).catch((error: unknown) => {
      return [`cannot be read as what the catalog says it is: ${reasonOf(error)}`];
    });
    return differences.map((what) => ({ what, isOfFile: false }));
  }

  async #damageOf(file: NamedFile): Promise<string | undefined> {
    const bytes = await this.#fs.size(this.#store.absolute(file.path));
    if (bytes === undefined) return 'is missing';
    if (bytes !== file.bytes) return `is damaged: it has ${bytes} bytes instead of ${file.bytes}`;
    if (this.#connection === undefined) return undefined;
    const { crc32c } = await this.#store.sum(file.path);
    return crc32c === file.crc32c ? undefined : 'is damaged: its checksum does not match';
  }
}

function segmentFaults(segment: Segment, found: FileBounds): string[] {
  const { rowCount, timeFirst, timeLast, sidFirst, sidLast, metricFirst, metricLast, hasMetrics, hasOps } = segment;
  const faults = [
    ...countFaults(found.rowCount, rowCount),
    ...rangeFaults('series', found.sids, { first: sidFirst, last: sidLast }),
    ...rangeFaults('times', found.times, { first: timeFirst, last: timeLast }),
  ];
  if (hasMetrics !== found.hasMetrics) {
    faults.push(`has ${found.hasMetrics ? '' : 'no '}metric numbers, the catalog says otherwise`);
  } else if (hasMetrics) {
    faults.push(...rangeFaults('metric numbers', found.metrics, { first: metricFirst, last: metricLast }));
  }
  if (hasOps !== found.hasOps) faults.push(`has ${found.hasOps ? '' : 'no '}deletions, the catalog says otherwise`);
  if ((segment.hasScaled ?? false) !== found.hasScaled) {
    faults.push(`has ${found.hasScaled ? '' : 'no '}scaled columns, the catalog says otherwise`);
  }
  return faults;
}

function countFaults(found: number, said: number): string[] {
  return found === said ? [] : [`has ${found} rows, the catalog says ${said}`];
}

/** The catalog's range may be wider: it was taken before deleted rows were removed. */
function rangeFaults<T extends number | bigint>(what: string, found: Range<T> | undefined, said: Range<T>): string[] {
  if (found === undefined) return [`has no ${what}, the catalog says ${said.first} to ${said.last}`];
  if (found.first >= said.first && found.last <= said.last) return [];
  return [`has ${what} ${found.first} to ${found.last}, the catalog says ${said.first} to ${said.last}`];
}

/** The engine appends hints in lines of their own. */
function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0];
}
