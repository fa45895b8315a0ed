import { signal } from '@preact/signals';

import { quotedText, sqlRows } from './sql.js';
import type { ColumnRole, SchemaColumn, SchemaTable } from './table-schema.js';

/** The tables of a database, as they were when they were last read. */
export interface DatabaseSchema {
  readonly database: string;
  readonly tables: readonly SchemaTable[];
  /** Whether there are more columns than are read at once. */
  readonly isPartial: boolean;
  readonly readMs: number;
}

const COLUMNS_MAX = 20_000;
const FRESH_MS = 60_000;

interface ColumnRow {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
  readonly semantic_type: string;
}

/** The schema of the database of the page; undefined until it has been read. */
export const schema = signal<DatabaseSchema | undefined>(undefined);

let reading: { readonly database: string; readonly done: Promise<void> } | undefined;

/** Reads the schema of a database again, unless it was read within the last minute. A failure keeps the last one. */
export function readSchema(database: string, isForced = false): Promise<void> {
  const last = schema.peek();
  const isFresh = last?.database === database && performance.now() - last.readMs < FRESH_MS;
  if (isFresh && !isForced) return Promise.resolve();
  if (reading?.database === database) return reading.done;
  const own = { database, done: load(database) };
  reading = own;
  return own.done;
}

async function load(database: string): Promise<void> {
  try {
    const value = await read(database);
    // Another database may have been chosen meanwhile.
    if (reading?.database === database) schema.value = value;
  } catch {
    // The last one stays.
  }
  if (reading?.database === database) reading = undefined;
}

async function read(database: string): Promise<DatabaseSchema> {
  const rows = await sqlRows<ColumnRow>(
    'SELECT table_name, column_name, data_type, semantic_type FROM information_schema.columns ' +
      `WHERE table_schema = ${quotedText(database)} ORDER BY table_name, ordinal_position`,
    { limit: COLUMNS_MAX },
  );
  const tables = new Map<string, SchemaColumn[]>();
  for (const { table_name: table, column_name: name, data_type: type, semantic_type: role } of rows) {
    let columns = tables.get(table);
    if (columns === undefined) tables.set(table, (columns = []));
    columns.push({ name, type, role: roleOf(role) });
  }
  return {
    database,
    tables: Array.from(tables, ([name, columns]) => ({ name, columns })),
    isPartial: rows.length >= COLUMNS_MAX,
    readMs: performance.now(),
  };
}

function roleOf(semanticType: string): ColumnRole {
  if (semanticType === 'TAG') return 'tag';
  return semanticType === 'TIMESTAMP' ? 'time index' : 'field';
}
