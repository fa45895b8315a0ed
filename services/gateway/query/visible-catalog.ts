import { mayUseDatabase, requireDatabase } from '#shared/contracts/rights';
import type { Catalog } from '#shared/discovery/catalog';

/**
 * Returns the catalog with the databases that each caller may use, for routes that reply with schemas without running SQL.
 *
 * Its methods also throw `access_denied`, whether the database exists or not.
 */
export function visibleCatalog(catalog: Catalog): Catalog {
  return {
    get version() {
      return catalog.version;
    },
    // Async, so that a refusal is a rejection, as other errors are.
    async database(name, call) {
      requireDatabase(call, name);
      return catalog.database(name, call);
    },
    async databases(call) {
      return (await catalog.databases(call)).filter(({ name }) => mayUseDatabase(call.rights, name));
    },
    async table(database, name, call) {
      requireDatabase(call, database);
      return catalog.table(database, name, call);
    },
    async tables(database, call) {
      requireDatabase(call, database);
      return catalog.tables(database, call);
    },
    renew: (tableId, call) => catalog.renew(tableId, call),
    reached: (version, call) => catalog.reached(version, call),
  };
}
