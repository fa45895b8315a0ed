import type { Database } from '#shared/contracts/gen/common';
import type {
  CreateViewRequest,
  CreateViewResponse,
  DropViewRequest,
  DropViewResponse,
  View,
  ViewName,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { checkTableName } from '#shared/schema/names';
import { viewChanged, viewDropped, type MetadataCatalog } from '../catalog.js';

const TEXT_BYTES_MAX = 64 * 1024;
const VIEWS_MAX = 10_000;
/** Characters of the texts of all views, which every process holds in memory. */
const CHARS_MAX = 64 * 1024 * 1024;

/**
 * Stores a view.
 * @throws `database_not_found`; `table_already_exists` if a table has the name, or a view that is not to be replaced;
 *   `invalid_arguments` for a text that is too long, or too many views.
 */
export function createView(catalog: MetadataCatalog, request: CreateViewRequest): CreateViewResponse {
  const { view, orReplace, ifNotExists } = request;
  if (view === undefined) throw new AlmanacError('invalid_arguments', 'a view needs a definition');
  checkTableName(view.name);
  checkLength(view);
  return catalog.change((record) => {
    const database = catalog.database(view.database);
    const existing = catalog.views.find(database, view.name);
    if (existing !== undefined && !orReplace) {
      if (ifNotExists) return { created: false, catalogVersion: catalog.version };
      throw viewExists(view);
    }
    if (catalog.tables.find(database, view.name) !== undefined) {
      const details = { database: view.database, table: view.name };
      throw new AlmanacError('table_already_exists', `Table already exists: ${view.name}`, { details });
    }
    if (existing !== undefined) catalog.views.delete(existing.viewId);
    checkRoom(catalog);
    const stored = catalog.views.insert(database, { ...view, createdMs: catalog.clock.nowMs() });
    record(viewChanged(stored));
    return { created: true, catalogVersion: catalog.version };
  });
}

function checkLength({ query, statement }: View): void {
  if (Buffer.byteLength(query) <= TEXT_BYTES_MAX && Buffer.byteLength(statement) <= 2 * TEXT_BYTES_MAX) return;
  throw new AlmanacError('invalid_arguments', `the query of a view has at most ${TEXT_BYTES_MAX} bytes`);
}

function checkRoom(catalog: MetadataCatalog): void {
  const { count, chars } = catalog.views.size();
  if (count < VIEWS_MAX && chars < CHARS_MAX) return;
  const text = `there are ${count} views of ${chars} characters, the limits are ${VIEWS_MAX} and ${CHARS_MAX}: drop some`;
  throw new AlmanacError('invalid_arguments', text);
}

/** Drops a view. @throws `database_not_found`; `table_not_found` unless `ifExists`. */
export function dropView(catalog: MetadataCatalog, request: DropViewRequest): DropViewResponse {
  return catalog.change((record) => {
    const view = catalog.views.find(catalog.database(request.database), request.name);
    if (view === undefined) {
      if (request.ifExists) return { dropped: false, catalogVersion: catalog.version };
      throw notFound(request);
    }
    catalog.views.delete(view.viewId);
    record(viewDropped(view));
    return { dropped: true, catalogVersion: catalog.version };
  });
}

/** Returns a view. @throws `database_not_found`, `table_not_found`. */
export function getView(catalog: MetadataCatalog, request: ViewName): View {
  const view = catalog.views.find(catalog.database(request.database), request.name);
  if (view === undefined) throw notFound(request);
  return view;
}

/** Checks that a new table does not take the name of a view. @throws `table_already_exists`. */
export function checkNoView(catalog: MetadataCatalog, database: Database, name: string): void {
  if (catalog.views.find(database, name) !== undefined) throw viewExists({ database: database.name, name });
}

function viewExists({ database, name }: ViewName): AlmanacError {
  return new AlmanacError('table_already_exists', `View already exists: ${name}`, {
    details: { database, view: name },
  });
}

function notFound({ database, name }: ViewName): AlmanacError {
  return new AlmanacError('table_not_found', `View not found: ${database}.${name}`);
}
