import type { Empty } from '#shared/contracts/gen/common';
import type {
  AlterDatabaseRequest,
  AlterDatabaseResponse,
  CreateDatabaseRequest,
  CreateDatabaseResponse,
  DropDatabaseRequest,
  DropDatabaseResponse,
  ListDatabasesResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { checkDatabaseName } from '#shared/schema/names';
import { isReservedDatabase } from '#shared/schema/system-database';
import {
  databaseCreated,
  databaseDropped,
  droppedTable,
  tableChanged,
  tableDropped,
  viewDropped,
  type MetadataCatalog,
} from '../catalog.js';
import type { Cluster } from '../cluster.js';
import { existingTable } from './tables.js';

/** Always exists and cannot be dropped. */
const DEFAULT_DATABASE = 'public';

/**
 * Creates a database.
 * @throws `database_already_exists`, `invalid_arguments`.
 */
export function createDatabase(catalog: MetadataCatalog, request: CreateDatabaseRequest): CreateDatabaseResponse {
  checkDatabaseName(request.name);
  return catalog.change((record) => {
    const existing = catalog.databases.find(request.name);
    if (existing !== undefined || isReservedDatabase(request.name)) {
      if (existing !== undefined && request.ifNotExists) {
        return { database: existing, created: false, catalogVersion: catalog.version };
      }
      throw new AlmanacError('database_already_exists', `Schema ${request.name} already exists`, {
        details: { database: request.name },
      });
    }
    const database = catalog.databases.insert(request.name, request.options);
    record(databaseCreated(database));
    return { database, created: true, catalogVersion: catalog.version };
  });
}

/**
 * Drops a database with all its tables.
 * @throws `database_not_found`, `unsupported` for the default database.
 */
export function dropDatabase({ catalog, openings }: Cluster, request: DropDatabaseRequest): DropDatabaseResponse {
  const answer = catalog.change((record) => {
    const database = catalog.databases.find(request.name);
    if (database === undefined) {
      if (request.ifExists) return { dropped: false, catalogVersion: catalog.version, tables: [] };
      throw new AlmanacError('database_not_found', `Database not found: ${request.name}`);
    }
    if (request.name === DEFAULT_DATABASE) {
      throw new AlmanacError('unsupported', `database "${DEFAULT_DATABASE}" always exists and cannot be dropped`);
    }
    const tables = catalog.tables.list(database);
    for (const table of tables) {
      catalog.segments.discardTable(table.tableId, catalog.clock.nowMs());
      catalog.tables.delete(table.tableId);
      record(tableDropped(table));
    }
    for (const view of catalog.views.list(database)) record(viewDropped(view));
    catalog.views.deleteAll(database);
    catalog.dashboards.deleteAll(database);
    catalog.databases.delete(database.databaseId);
    record(databaseDropped(database.name));
    return { dropped: true, catalogVersion: catalog.version, tables: tables.map(droppedTable) };
  });
  openings.dropped(answer.tables);
  return answer;
}

/** Changes the options of a database. Its tables inherit options, so each of them gets a new schema version. */
export function alterDatabase(catalog: MetadataCatalog, request: AlterDatabaseRequest): AlterDatabaseResponse {
  return catalog.change((record) => {
    const database = catalog.databases.setOptions(catalog.database(request.name), request.options);
    record(databaseCreated(database));
    for (const { tableId, primaryKey } of catalog.tables.list(database)) {
      catalog.tables.bumpSchema(tableId, primaryKey);
      record(tableChanged(existingTable(catalog, tableId)));
    }
    return { database, catalogVersion: catalog.version };
  });
}

/** Returns all databases. */
export function listDatabases(catalog: MetadataCatalog, _request: Empty): ListDatabasesResponse {
  return { databases: catalog.databases.list(), catalogVersion: catalog.version };
}
