import type { RegisterNodeRequest } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { changeState, type Cluster, type RecordChange } from './cluster.js';
import type { NodeRecord } from './store/nodes.js';

/** Roles that write segments, so that their data folder is the cluster's. */
const CLAIMING_ROLES: ReadonlySet<string> = new Set(['ingester', 'standalone']);

/**
 * Compares the data folder of a process that registers with the cluster's.
 *
 * @returns whether the cluster has no data folder yet and should take this one.
 * @throws `illegal_state` if it is another folder; `external` if the right one is not known yet.
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
      `this process has the data folder ${dataFolderId}, the segments of the cluster are in the data folder ${known}: ` +
      'set storage.data_home (--data-dir) to the data folder that the other processes use (docs/deploy.md, "The data folder")' +
      (clusterId === '' ? `. ${lostIdentityHint(known, own)}` : '');
    throw new AlmanacError('illegal_state', text);
  }
  if (!CLAIMING_ROLES.has(role)) return false;
  // The catalog of a standalone process is in the folder itself.
  if (role !== 'standalone') checkClaim(catalog.nodes.list(), slot);
  return true;
}

/** For a folder that belongs to no cluster: it may be the right one, with a new identity after it lost its own. */
function lostIdentityHint(folderId: string, clusterId: string): string {
  const identity = JSON.stringify({ folderId, clusterId });
  return `If it is that folder, and its identity/folder.json was lost, write ${identity} into that file`;
}

/**
 * Catalogs of earlier releases do not contain the folder of their segments. The slots of their ingesters are in that
 * folder, so only one of those ingesters can identify it.
 */
function checkClaim(nodes: readonly NodeRecord[], slot: string): void {
  const owners = nodes.filter((node) => node.role === 'ingester' && node.regionCount > 0);
  if (owners.length === 0 || nodes.some((node) => node.slot === slot)) return;
  const text = "which data folder is the cluster's is not known until one of its earlier ingesters has started again";
  throw new AlmanacError('external', text, { retryAfterSeconds: 1 });
}

/** Makes a folder the cluster's. Processes that registered with another one before have to register again. */
export function claimDataFolder(cluster: Cluster, dataFolderId: string, record: RecordChange): void {
  const { catalog } = cluster;
  catalog.identity.setDataFolderId(dataFolderId);
  for (const node of catalog.nodes.list()) {
    if (node.state !== 'left' && hasOtherFolder(cluster, node)) changeState(cluster, node, 'left', record);
  }
}

/** Returns whether a registered node has another data folder than the cluster. */
export function hasOtherFolder({ catalog }: Cluster, { dataFolderId }: NodeRecord): boolean {
  const known = catalog.identity.dataFolderId();
  return dataFolderId !== '' && known !== '' && dataFolderId !== known;
}
