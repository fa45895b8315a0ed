import type { RequestContext } from '../../request-context.js';

/** Database of requests that name none. */
export const DEFAULT_DATABASE = 'public';
/** Catalogs that may precede the name of a database. */
const CATALOGS = new Set(['almanac', 'greptime']);

/** Returns the database of a write: from the header, else from the first query parameter with a value. */
export function databaseOfWrite(context: RequestContext, parameters: readonly string[]): string {
  const named = context.productHeader('db-name') ?? firstValue(context.query, parameters);
  return named === undefined || named === '' ? DEFAULT_DATABASE : withoutCatalog(named);
}

/** Returns the database of a query: from the parameter, else from the header. */
export function databaseOfQuery(context: RequestContext, parameter: string | undefined): string {
  const named = parameter === undefined || parameter === '' ? context.productHeader('db-name') : parameter;
  return named === undefined || named === '' ? DEFAULT_DATABASE : withoutCatalog(named);
}

function firstValue(query: URLSearchParams, parameters: readonly string[]): string | undefined {
  for (const parameter of parameters) {
    const value = query.get(parameter);
    if (value !== null && value !== '') return value;
  }
  return undefined;
}

/** Removes a catalog: `almanac-public` becomes `public`, but `my-db` is a database of that name. */
function withoutCatalog(name: string): string {
  const dash = name.indexOf('-');
  return dash > 0 && CATALOGS.has(name.slice(0, dash)) && dash + 1 < name.length ? name.slice(dash + 1) : name;
}
