/** Databases that consist of system tables. */
const SYSTEM_DATABASES = new Set(['information_schema']);

/** Names that clients expect to be those of system tables, whether or not Almanac has them. */
const RESERVED = new Set([...SYSTEM_DATABASES, 'pg_catalog']);

/** Whether a database consists of system tables, so that all users may read it and none may change it. */
export function isSystemDatabase(name: string): boolean {
  return SYSTEM_DATABASES.has(name);
}

/** Whether no database may be created with this name. */
export function isReservedDatabase(name: string): boolean {
  return RESERVED.has(name);
}
