import { DuckDBInstance } from '@duckdb/node-api';
import { quoteText } from './quote.js';

export type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance, DuckDBVector } from '@duckdb/node-api';

/** Resources of an engine instance. */
export interface EngineOptions {
  readonly threads: number;
  readonly memoryBytes: number;
  /** Folder for intermediate results that exceed memory; created and emptied by the caller. */
  readonly spillFolder: string;
}

/** Settings of the whole instance; once a sandbox is locked every SET fails. */
const SETTINGS = [
  `SET TimeZone = 'UTC'`,
  // Descending order shows nulls first, as users of the dialect expect.
  `SET default_null_order = 'nulls_last_on_asc_first_on_desc'`,
  'SET integer_division = true',
  'SET preserve_insertion_order = true',
  'SET autoinstall_known_extensions = false',
  'SET autoload_known_extensions = false',
  // A checkpoint moves rows of tables in memory, and one that fails for want of space makes the whole instance unusable.
  `SET checkpoint_threshold = '1TiB'`,
  // Segments never change, so their footers are read once: a third of the time of a query for one series.
  'SET parquet_metadata_cache = true',
];

/**
 * Opens an instance for internal work (flush, compaction). It may read and write files, so SQL from clients never reaches it.
 */
export async function openEngine(options: EngineOptions): Promise<DuckDBInstance> {
  const instance = await createInstance(options);
  // Flushes and merges read each file once.
  await configure(instance, [...SETTINGS, 'SET enable_external_file_cache = false']);
  return instance;
}

/** Opens an instance for queries: it can use files below the given folders and nothing else, and its settings are locked. */
export async function openSandbox(options: EngineOptions, ...folders: readonly string[]): Promise<DuckDBInstance> {
  const instance = await createInstance(options);
  await configure(instance, [
    ...SETTINGS,
    // Spilled data is bounded too.
    `SET max_temp_directory_size = '${Math.ceil((2 * options.memoryBytes) / 1024)}KiB'`,
    `SET allowed_directories = [${folders.map(quoteText).join(', ')}]`,
    'SET enable_external_access = false',
    'SET lock_configuration = true',
  ]);
  return instance;
}

/** Changes the number of threads. Fails for a sandbox, whose settings are locked. */
export function setThreads(instance: DuckDBInstance, threads: number): Promise<void> {
  return configure(instance, [`SET threads = ${Math.max(1, threads)}`]);
}

async function createInstance({ threads, memoryBytes, spillFolder }: EngineOptions): Promise<DuckDBInstance> {
  return DuckDBInstance.create(':memory:', {
    threads: String(Math.max(1, threads)),
    memory_limit: `${Math.ceil(memoryBytes / 1024)}KiB`,
    temp_directory: spillFolder,
  });
}

async function configure(instance: DuckDBInstance, statements: readonly string[]): Promise<void> {
  const connection = await instance.connect();
  try {
    for (const statement of statements) await connection.run(statement);
  } finally {
    connection.closeSync();
  }
}
