import { DuckDBInstance } from '@duckdb/node-api';
import { quoteText } from './quote.js';

export type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance, DuckDBVector } from '@duckdb/node-api';

export interface EngineOptions {
  readonly threads: number;
  readonly memoryBytes: number;
  /** Folder that intermediate results spill to; made and emptied by the caller. */
  readonly spillFolder: string;
}

/** Statements that hold for the whole instance; after the lock of a sandbox every SET fails. */
const SETTINGS = [
  `SET TimeZone = 'UTC'`,
  // Descending order shows nulls first, as users of the dialect expect.
  `SET default_null_order = 'nulls_last_on_asc_first_on_desc'`,
  'SET integer_division = true',
  'SET preserve_insertion_order = true',
  'SET autoinstall_known_extensions = false',
  'SET autoload_known_extensions = false',
  // Segments never change, so their footers are read once: a third of the time of a question about one series.
  'SET parquet_metadata_cache = true',
];

/**
 * An instance for our own work (flush, compaction). It may read and write files, so no text of a client ever reaches it.
 */
export async function openEngine(options: EngineOptions): Promise<DuckDBInstance> {
  const instance = await createInstance(options);
  await configure(instance, SETTINGS);
  return instance;
}

/** An instance for queries: it reads files below `segmentsFolder` and nothing else, and its settings are locked. */
export async function openSandbox(options: EngineOptions, segmentsFolder: string): Promise<DuckDBInstance> {
  const instance = await createInstance(options);
  await configure(instance, [
    ...SETTINGS,
    // What queries put on disk is bounded too.
    `SET max_temp_directory_size = '${Math.ceil((2 * options.memoryBytes) / 1024)}KiB'`,
    `SET allowed_directories = [${quoteText(segmentsFolder)}]`,
    'SET enable_external_access = false',
    'SET lock_configuration = true',
  ]);
  return instance;
}

/** Threads from now on. Not for a sandbox, whose settings are locked. */
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
