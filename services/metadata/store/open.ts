import Database from 'better-sqlite3';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant, InvariantError } from '#shared/errors/invariant';
import type { FileSystem } from '#shared/fs/file-system';
import { PROGRAM_ROOT } from '#shared/fs/program-root';

/** An open SQLite connection to the catalog file. */
export type CatalogConnection = Database.Database;

const FAULTS_MAX = 5;
/** Migrations are next to the source, not in the compiled tree. */
const MIGRATIONS = `${PROGRAM_ROOT}services/metadata/store/migrations`;

/**
 * Opens the catalog file and migrates it to the newest format.
 *
 * Uses a write-ahead journal and syncs every commit: acknowledged changes survive power loss.
 *
 * @throws `illegal_state` if a newer release wrote the file; `storage_unavailable` if it cannot be read.
 */
export async function openStore(path: string, fs: FileSystem): Promise<CatalogConnection> {
  const connection = openConnection(path);
  try {
    connection.pragma('journal_mode = WAL');
    connection.pragma('synchronous = FULL');
    connection.pragma('foreign_keys = ON');
    connection.defaultSafeIntegers(true);
    await migrate(connection, fs);
  } catch (error) {
    connection.close();
    throw error instanceof Database.SqliteError ? storeError(error, `cannot open "${path}"`) : error;
  }
  return connection;
}

function openConnection(path: string): CatalogConnection {
  try {
    return new Database(path);
  } catch (error) {
    throw storeError(error, `cannot open "${path}"`);
  }
}

/** Facts about a catalog file that do not depend on its contents. */
export interface StoreFacts {
  readonly format: number;
  readonly isOlder: boolean;
  /** Faults of the file; a few at most. */
  readonly faults: readonly string[];
}

/**
 * Checks the integrity of a catalog file.
 * @throws `storage_unavailable` if it is none, or cannot be read.
 */
export async function inspectStore(path: string, fs: FileSystem): Promise<StoreFacts> {
  const connection = openConnection(path);
  try {
    const format = formatOf(connection);
    const rows = connection.pragma(`integrity_check(${FAULTS_MAX})`) as { integrity_check: string }[];
    const faults = rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
    if (format === 0) faults.push('it is empty');
    return { format, isOlder: format < (await migrationFiles(fs)).length, faults };
  } catch (error) {
    throw storeError(error, 'catalog cannot be read');
  } finally {
    connection.close();
  }
}

async function migrate(connection: CatalogConnection, fs: FileSystem): Promise<void> {
  const present = formatOf(connection);
  const files = await migrationFiles(fs);
  if (present > files.length) {
    const text = `the catalog has format ${present}, this release supports up to ${files.length}: use a newer release`;
    throw new AlmanacError('illegal_state', text);
  }
  for (const [index, file] of files.entries()) {
    invariant(Number(file.slice(0, 4)) === index + 1, `metadata migration ${file} is out of order`);
  }
  if (present === files.length) return;
  const missing = await Promise.all(files.slice(present).map((file) => fs.readFile(`${MIGRATIONS}/${file}`)));
  // One transaction for all: each waits for the disk.
  connection.transaction(() => {
    for (const sql of missing) connection.exec(new TextDecoder().decode(sql));
    connection.pragma(`user_version = ${files.length}`);
  })();
}

function formatOf(connection: CatalogConnection): number {
  return Number(connection.pragma('user_version', { simple: true }));
}

async function migrationFiles(fs: FileSystem): Promise<string[]> {
  const files = (await fs.list(MIGRATIONS)).filter((name) => name.endsWith('.sql'));
  invariant(files.length > 0, 'metadata migrations are missing');
  return files;
}

/** Returns SQLite's code if the file is damaged or its disk cannot read it; undefined for other errors. */
export function damageCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError && DAMAGE.test(error.code) ? error.code : undefined;
}

const DAMAGE = /^SQLITE_(CORRUPT.*|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS))$/;

/** Translates SQLite's errors; the only place that does. */
export function storeError(error: unknown, what: string): AlmanacError | InvariantError {
  if (error instanceof AlmanacError || error instanceof InvariantError) return error;
  const code = error instanceof Database.SqliteError ? error.code : 'unknown error';
  return new AlmanacError('storage_unavailable', `metadata: ${what}: ${code}`, { cause: error, retryAfterSeconds: 5 });
}
