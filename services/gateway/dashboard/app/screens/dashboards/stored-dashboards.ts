import { messageOf, request, requestJson, RequestError } from '../../core/http.js';
import { database } from '../../data/sql.js';
import { parseDashboard, type DashboardDocument } from './document.js';

/** A dashboard as the server stores it. */
export interface StoredDashboard {
  readonly name: string;
  readonly definition: string;
  /** Another one for any other definition. */
  readonly etag: string;
}

interface DashboardsReply {
  readonly dashboards: readonly StoredDashboard[];
}

/** Returns all dashboards of the database of the page, by name. */
export async function listDashboards(signal?: AbortSignal): Promise<readonly StoredDashboard[]> {
  const reply = await requestJson<DashboardsReply>('v1/dashboards', { parameters: { db: database() }, signal });
  return reply.dashboards;
}

/** A dashboard as a screen shows it. */
export interface OpenDashboard {
  readonly document: DashboardDocument;
  /** With which it is stored; undefined if it is not. */
  readonly etag: string | undefined;
}

/** Opens a dashboard. @throws an Error that says that there is none, or that it is no JSON. */
export async function openDashboard(name: string, signal?: AbortSignal): Promise<OpenDashboard> {
  try {
    const { definition, etag } = await readDashboard(name, signal);
    return { document: parseDashboard(definition), etag };
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error(`The dashboard ${name} is no JSON: ${messageOf(error)}`);
    if (error instanceof RequestError && error.status === 404) throw new Error(`There is no dashboard ${name}.`);
    throw error;
  }
}

/** Returns a dashboard. @throws RequestError with status 404 if there is none. */
export async function readDashboard(name: string, signal?: AbortSignal): Promise<StoredDashboard> {
  const reply = await requestJson<DashboardsReply>(pathOf(name), { parameters: { db: database() }, signal });
  return reply.dashboards[0];
}

/**
 * Stores a dashboard.
 *
 * @param replacedEtag of the only one that may be replaced; undefined if none may.
 * @returns the etag of the new one.
 * @throws RequestError with status 412 if there is another one.
 */
export async function writeDashboard(
  name: string,
  definition: string,
  replacedEtag: string | undefined,
): Promise<string> {
  const condition = replacedEtag === undefined ? { 'if-none-match': '*' } : { 'if-match': `"${replacedEtag}"` };
  const reply = await requestJson<{ readonly dashboards: readonly { readonly etag: string }[] }>(pathOf(name), {
    method: 'POST',
    parameters: { db: database() },
    body: definition,
    headers: { 'content-type': 'application/json', ...condition },
  });
  return reply.dashboards[0].etag;
}

/** Deletes a dashboard. */
export async function deleteDashboard(name: string): Promise<void> {
  await request(pathOf(name), { method: 'DELETE', parameters: { db: database() } });
}

function pathOf(name: string): string {
  return `v1/dashboards/${encodeURIComponent(name)}`;
}
