import type { Catalog } from './catalog.js';

/** Wraps a catalog that may not exist yet. @param catalog throws until it does. */
export function deferredCatalog(catalog: () => Catalog): Catalog {
  return {
    get version() {
      return catalog().version;
    },
    database: (name, call) => catalog().database(name, call),
    databases: (call) => catalog().databases(call),
    table: (database, name, call) => catalog().table(database, name, call),
    tables: (database, call) => catalog().tables(database, call),
    renew: (tableId, call) => catalog().renew(tableId, call),
    reached: (version, call) => catalog().reached(version, call),
  };
}
