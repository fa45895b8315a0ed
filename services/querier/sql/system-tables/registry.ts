import { clusterTables } from './cluster.js';
import { constantTables, NUMBERS_TABLE } from './constant.js';
import { databaseTables } from './databases.js';
import { emptyTables } from './empty.js';
import { flowTables } from './flows.js';
import { keyTables } from './keys.js';
import { regionTables } from './regions.js';
import { routineTables } from './routines.js';
import { semanticTables } from './semantics.js';
import type { SystemTable } from './system-table.js';

const TABLES: readonly SystemTable[] = [
  ...databaseTables(() => TABLES),
  ...keyTables(),
  ...regionTables(),
  ...clusterTables(),
  ...flowTables(),
  ...semanticTables(),
  ...routineTables(),
  ...constantTables(),
  ...emptyTables(),
  NUMBERS_TABLE,
];

const BY_NAME = new Map(TABLES.map((table) => [`${table.database}\0${table.name}`, table]));

/** Returns the system table of this name. */
export function findSystemTable(database: string, name: string): SystemTable | undefined {
  return BY_NAME.get(`${database}\0${name}`);
}

/** Returns the names of the tables of a database of system tables, ascending. */
export function systemTableNames(database: string): string[] {
  return TABLES.filter((table) => table.database === database)
    .map(({ name }) => name)
    .sort((a, b) => (a < b ? -1 : 1));
}
