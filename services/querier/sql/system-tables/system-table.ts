import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { Database, Table } from '#shared/contracts/gen/common';
import type { MetadataService, RegionSize, View } from '#shared/contracts/gen/metadata';
import { mayAccess } from '#shared/contracts/rights';
import type { ViewCatalog } from '#shared/discovery/catalog';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { Cell } from '#shared/duckdb/chunk-reader';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { ProcessDirectory } from '../../run/process-directory.js';
import type { GivenTable } from './given-table.js';
import type { LogicalTables } from '../../snapshot/logical-table.js';

/** What the rows of system tables are made of. */
export interface SystemTableSource {
  readonly catalog: ViewCatalog;
  readonly metadata: Pick<MetadataService, 'listNodes' | 'listRegionSizes' | 'listFlows'>;
  readonly ingesters: Pick<Ingesters, 'ownerOf' | 'isAway'>;
  readonly metrics: Pick<LogicalTables, 'names'>;
  readonly processes: ProcessDirectory;
  /** Name of the only catalog, as users see it. */
  readonly catalogName: string;
  readonly call: Call;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Returns the first value of a query of the engine with one argument. */
  readonly callText: (sql: string, argument: string) => Promise<string>;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** Values by column name; a missing one is null. */
export type SystemRow = Readonly<Record<string, Cell>>;

/** A read-only table whose rows are computed when a query names it. */
export interface SystemTable extends GivenTable {
  rows(source: SystemTableSource): AsyncIterable<SystemRow> | Iterable<SystemRow>;
}

/** Whether a table is one of the system tables. */
export function isSystemTable(table: Table): table is SystemTable {
  return 'rows' in table;
}

/**
 * Creates a system table.
 *
 * @param columns names and native types, separated by commas; `?` marks columns that may be null: `table_id? UInt32`. A
 * column without a type has the type of the next one that has one.
 */
export function systemTable(
  database: string,
  name: string,
  columns: string,
  rows: SystemTable['rows'] = () => [],
): SystemTable {
  return {
    ...{ tableId: 0, databaseId: 0, database, name, schemaVersion: 0, options: {}, regions: [], createdMs: 0 },
    ...{ primaryKey: [], ttl: '' },
    relation: `temp.${quoteName(filledName(database, name))}`,
    columns: parseColumns(columns),
    rows,
  };
}

/** Returns the name of the temporary table with the rows of a system table. */
export function filledName(database: string, name: string): string {
  return `${database}.${name}`;
}

function parseColumns(text: string): Table['columns'] {
  const columns: Table['columns'][number][] = [];
  let type = '';
  const parts = text.split(',');
  for (const [i, part] of parts.reverse().entries()) {
    const [marked, ownType = type] = part.trim().split(/\s+/);
    type = ownType;
    columns.push({
      ...{
        id: parts.length - i,
        type,
        kind: 'field',
        defaultSql: '',
        comment: '',
        backfillSql: '',
        formerTypes: [],
        indexes: [],
      },
      name: marked.replace('?', ''),
      nullable: marked.endsWith('?'),
    });
  }
  return columns.reverse();
}

/** Returns the databases whose tables the caller may read, by name. */
export async function readableDatabases({ catalog, call }: SystemTableSource): Promise<Database[]> {
  const databases = await catalog.databases(call);
  return databases
    .filter(({ name }) => mayAccess(call.rights, 'read', name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the stored tables of a database, none if it was dropped meanwhile. */
export function tablesOf(database: string, { catalog, call }: SystemTableSource): Promise<readonly Table[]> {
  return unlessDropped(catalog.tables(database, call));
}

/** Returns the stored tables that the caller may read, database by database. */
export async function* readableTables(source: SystemTableSource): AsyncIterable<Table> {
  for (const { name } of await readableDatabases(source)) yield* await tablesOf(name, source);
}

/** Returns the views that the caller may read, database by database. */
export async function* readableViews(source: SystemTableSource): AsyncIterable<View> {
  for (const { name } of await readableDatabases(source)) yield* source.catalog.views.ofDatabase(name);
}

/** Returns the sizes of the regions of a database that have files, by region ID. */
export async function regionSizes(
  database: string,
  { metadata, call }: SystemTableSource,
): Promise<ReadonlyMap<number, RegionSize>> {
  const list = async (): Promise<readonly RegionSize[]> => (await metadata.listRegionSizes({ database }, call)).regions;
  const regions = await unlessDropped(list());
  return new Map(regions.map((size) => [size.regionId, size]));
}

/** Returns what belongs to a database, and nothing if it was dropped after it was listed. */
export async function unlessDropped<T>(entries: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await entries;
  } catch (error) {
    if (error instanceof AlmanacError && error.code === 'database_not_found') return [];
    throw error;
  }
}
