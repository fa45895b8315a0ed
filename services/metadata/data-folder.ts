import type { RegisterNodeRequest } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { changeState, type Cluster, type RecordChange } from './cluster.js';
import type { NodeRecord } from './store/nodes.js';

/** Roles that write segments: what they name as their data folder is the cluster's. */
const CLAIMING_ROLES: ReadonlySet<string> = new Set(['ingester', 'standalone']);

/**
 * Compares the data folder of a process that registers with the cluster's.
 *
 * @returns whether the folder shall become the cluster's, which has none yet.
 * @throws `illegal_state` if it is another one; `external` if nobody can tell yet.
 */
export function checkDataFolder({ catalog }: Cluster, request: RegisterNodeRequest): boolean {
  const { dataFolderId, clusterId, role, slot } = request;
  if (dataFolderId === '') return false;
  const own = catalog.identity.clusterId();
  if (clusterId !== '' && clusterId !== own) {
    const text =
      `the data folder (id ${dataFolderId}) belongs to the cluster ${clusterId}, this metadata keeps the cluster ${own}: ` +
      'set storage.data_home (--data-dir) to the data folder of this cluster, or metadata.addr to the metadata of the other';
    throw new AlmanacError('illegal_state', text);
  }
  const known = catalog.identity.dataFolderId();
  if (known === dataFolderId) return false;
  if (known !== '') {
    const text =
      `this process has the data folder ${dataFolderId}, the segments of the cluster lie in the data folder ${known}: ` +
      'set storage.data_home (--data-dir) to the data folder that the other processes use (docs/deploy.md, "The data folder")' +
      (clusterId === '' ? `. ${lostIdentityHint(known, own)}` : '');
    throw new AlmanacError('illegal_state', text);
  }
  if (!CLAIMING_ROLES.has(role)) return false;
  // Metadata of a standalone process lies in the folder itself.
  if (role !== 'standalone') checkClaim(catalog.nodes.list(), slot);
  return true;
}

/** For a folder that belongs to nobody yet: it may be the right one, which lost its identity and was given a new one. */
function lostIdentityHint(folderId: string, clusterId: string): string {
  const identity = JSON.stringify({ folderId, clusterId });
  return `If it is that folder, and its identity/folder.json was lost, write ${identity} into that file`;
}

/**
 * A catalog of an earlier release does not know where its segments lie. The slots of its ingesters lie in the same folder,
 * so that only one of them can tell.
 */
function checkClaim(nodes: readonly NodeRecord[], slot: string): void {
  const owners = nodes.filter((node) => node.role === 'ingester' && node.regionCount > 0);
  if (owners.length === 0 || nodes.some((node) => node.slot === slot)) return;
  const text = "which data folder is the cluster's is not known until one of its earlier ingesters has started again";
  throw new AlmanacError('external', text, { retryAfterSeconds: 1 });
}

/** Makes a folder the cluster's. Processes with another one, which were let in before, have to register again. */
export function claimDataFolder(cluster: Cluster, dataFolderId: string, note: RecordChange): void {
  const { catalog } = cluster;
  catalog.identity.setDataFolderId(dataFolderId);
  for (const node of catalog.nodes.list()) {
    if (node.state !== 'left' && hasOtherFolder(cluster, node)) changeState(cluster, node, 'left', note);
  }
}

/** Whether a node was let in with a data folder that turned out to be another one than the cluster's. */
export function hasOtherFolder({ catalog }: Cluster, { dataFolderId }: NodeRecord): boolean {
  const known = catalog.identity.dataFolderId();
  return dataFolderId !== '' && known !== '' && dataFolderId !== known;
}
