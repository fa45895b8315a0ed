import type {
  DashboardName,
  DeleteDashboardResponse,
  ListDashboardsResponse,
  PutDashboardRequest,
  PutDashboardResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MetadataCatalog } from '../catalog.js';

const NAME_BYTES_MAX = 255;
const DEFINITION_BYTES_MAX = 1024 * 1024;
/** All dashboards of a database are in one reply. */
const DATABASE_BYTES_MAX = 16 * 1024 * 1024;
const COUNT_MAX = 1000;

/**
 * Stores a dashboard, or replaces it, unless the request names another one to replace.
 *
 * @throws `database_not_found`; `invalid_arguments` beyond a limit.
 */
export function putDashboard(catalog: MetadataCatalog, request: PutDashboardRequest): PutDashboardResponse {
  const { database, dashboard, replacedEtag } = request;
  const { name = '', definition = '' } = dashboard ?? {};
  if (name === '' || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw new AlmanacError('invalid_arguments', `the name of a dashboard has 1 to ${NAME_BYTES_MAX} bytes`);
  }
  const bytes = Buffer.byteLength(definition);
  if (bytes > DEFINITION_BYTES_MAX) {
    throw new AlmanacError('invalid_arguments', `a dashboard has at most ${DEFINITION_BYTES_MAX} bytes, not ${bytes}`);
  }
  return catalog.change(() => {
    const owner = catalog.database(database);
    const current = catalog.dashboards.find(owner, name)?.etag ?? '';
    if (replacedEtag !== undefined && replacedEtag !== current) return { conflict: true, etag: current };
    const others = catalog.dashboards.sizeWithout(owner, name);
    if (others.count >= COUNT_MAX || others.bytes + bytes > DATABASE_BYTES_MAX) {
      const limits = `${COUNT_MAX} dashboards of ${DATABASE_BYTES_MAX} bytes together`;
      throw new AlmanacError('invalid_arguments', `a database has at most ${limits}: delete some`);
    }
    return { conflict: false, etag: catalog.dashboards.put(owner, name, definition) };
  });
}

/** Deletes a dashboard. @throws `database_not_found`. */
export function deleteDashboard(catalog: MetadataCatalog, { database, name }: DashboardName): DeleteDashboardResponse {
  return catalog.change(() => ({ deleted: catalog.dashboards.delete(catalog.database(database), name) }));
}

/** Returns all dashboards of a database by name, or the one with a name. @throws `database_not_found`. */
export function listDashboards(catalog: MetadataCatalog, { database, name }: DashboardName): ListDashboardsResponse {
  const owner = catalog.database(database);
  if (name === '') return { dashboards: catalog.dashboards.list(owner) };
  const found = catalog.dashboards.find(owner, name);
  return { dashboards: found === undefined ? [] : [found] };
}
