import { request, requestJson } from '../../core/http.js';
import { database } from '../../data/sql.js';

/** A dashboard as the server stores it. */
export interface StoredDashboard {
  readonly name: string;
  readonly definition: string;
}

interface DashboardsReply {
  readonly dashboards: readonly StoredDashboard[];
}

/** Returns all dashboards of the database of the page, by name. */
export async function listDashboards(signal?: AbortSignal): Promise<readonly StoredDashboard[]> {
  const reply = await requestJson<DashboardsReply>('v1/dashboards', { parameters: { db: database() }, signal });
  return reply.dashboards;
}

/** Returns the text of a dashboard. @throws RequestError with status 404 if there is none. */
export async function readDashboard(name: string, signal?: AbortSignal): Promise<string> {
  const reply = await requestJson<DashboardsReply>(pathOf(name), { parameters: { db: database() }, signal });
  return reply.dashboards[0].definition;
}

/** Stores a dashboard, or replaces it. */
export async function writeDashboard(name: string, definition: string): Promise<void> {
  await request(pathOf(name), {
    method: 'POST',
    parameters: { db: database() },
    body: definition,
    headers: { 'content-type': 'application/json' },
  });
}

/** Deletes a dashboard. */
export async function deleteDashboard(name: string): Promise<void> {
  await request(pathOf(name), { method: 'DELETE', parameters: { db: database() } });
}

function pathOf(name: string): string {
  return `v1/dashboards/${encodeURIComponent(name)}`;
}
