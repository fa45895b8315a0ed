import type { FlowRights } from '#shared/contracts/gen/metadata';
import { isMode, mayAccess, type Grant, type Rights } from '#shared/contracts/rights';

/**
 * Returns what a flow of a user may do: read what the user may read now, and write to the database of its sink. A view that
 * changes later can therefore show the flow nothing that the user could not read.
 *
 * @returns undefined for a caller with all rights.
 */
export function rightsOfFlow(rights: Rights | undefined, sinkDatabase: string): FlowRights | undefined {
  if (rights === undefined) return undefined;
  const readable = rights.grants.filter((grant) => mayAccess({ ...rights, grants: [grant] }, 'read', grant.database));
  const read = readable.map(({ database }): Grant => ({ database, mode: 'read' }));
  return { user: rights.user, grants: [...read, { database: sinkDatabase, mode: 'write' }] };
}

/** Returns the rights with which a flow runs; undefined: all. */
export function runRights(stored: FlowRights | undefined): Rights | undefined {
  if (stored === undefined) return undefined;
  const grants = stored.grants.flatMap(({ database, mode }) => (isMode(mode) ? [{ database, mode }] : []));
  return { user: stored.user, grants };
}
