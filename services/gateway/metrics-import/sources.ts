import { hostname } from 'node:os';

import type { Call } from '#shared/contracts/call';
import type { MetricsSource } from '#shared/node/metrics-export/metrics-exporter';

import type { NodeAdmin, PeerDirectory } from '../admin/endpoint.js';
import type { Peer } from '../cluster/peers.js';

const JOB = 'almanac';

/** A gateway, and the other processes of its cluster. */
export interface SourceDeps {
  readonly admin: NodeAdmin;
  /** Undefined in a standalone process. */
  readonly peers: PeerDirectory | undefined;
  /** Port of the main listener. */
  readonly port: string;
}

/**
 * Returns the processes whose metrics this gateway stores: itself, if it runs alone. Of the gateways of a cluster, the ready
 * one with the lowest node ID stores the metrics of all processes, so that each sample is stored once.
 */
export async function metricsSources({ admin, peers, port }: SourceDeps, call: Call): Promise<MetricsSource[]> {
  if (peers === undefined) {
    const labels = { job: JOB, role: 'standalone', instance: `${hostname()}:${port}` };
    return [{ labels, read: (reading) => textOf(admin, reading) }];
  }
  const [own, all] = await Promise.all([admin.status({}, call), peers.list(call)]);
  const first = all.find(({ info }) => info.role === 'gateway' && info.state === 'ready');
  if (first?.info.nodeId !== own.nodeId) return [];
  return all.flatMap((peer) => sourceOf(peer, peer.info.nodeId === own.nodeId ? admin : peer.admin));
}

/** A process that has left has no metrics; one that does not reply, and has not left, is a failure. */
function sourceOf({ info }: Peer, admin: NodeAdmin | undefined): MetricsSource[] {
  if (admin === undefined || info.state === 'left' || info.state === 'gone') return [];
  const labels = { job: JOB, role: info.role, instance: info.addr };
  return [{ labels, read: (call) => textOf(admin, call) }];
}

async function textOf(admin: NodeAdmin, call: Call): Promise<string> {
  return (await admin.metrics({ openMetrics: false }, call)).text;
}
