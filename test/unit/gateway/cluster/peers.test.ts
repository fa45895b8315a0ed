import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import type { NodeInfo } from '#shared/contracts/gen/metadata';
import { Peers, type PeersOptions } from '#services/gateway/cluster/peers';

function node(nodeId: number, addr: string, state: string, registeredMs: number): NodeInfo {
  return { nodeId, role: 'querier', addr, version: '1', registeredMs, state, slot: '', regionCount: 0 };
}

describe('processes of a cluster', () => {
  const call = ownCall('test');
  const nodes: NodeInfo[] = [];
  let peers: Peers;

  beforeEach(() => {
    nodes.length = 0;
    peers = new Peers({
      nodes: () => nodes,
      tables: () => [],
      metadata: { listNodes: () => Promise.resolve({ nodes }) },
      metadataAddr: 'metadata:1',
      connect: (addr: string) => ({ service: { addr }, close: () => undefined }),
    } as unknown as PeersOptions);
  });

  async function asked(): Promise<number[]> {
    const listed = await peers.list(call);
    return listed.filter(({ admin }) => admin !== undefined).map(({ info }) => info.nodeId);
  }

  it('are called at their address even if they count as gone: they may only be slow', async () => {
    nodes.push(node(1, 'a:1', 'ready', 1), node(2, 'a:2', 'gone', 2));
    expect(await asked()).to.deep.equal([0, 1, 2]);
  });

  it('are not called at an address that belongs to another node now', async () => {
    nodes.push(node(1, 'a:1', 'gone', 9), node(2, 'a:1', 'ready', 2), node(3, 'a:2', 'ready', 3));
    nodes.push(node(4, 'a:2', 'ready', 4));
    expect(await asked()).to.deep.equal([0, 2, 4]);
    expect(peers.find(1)?.admin).to.equal(undefined);
    expect(peers.find(2)?.admin).to.deep.equal({ addr: 'a:1' });
    expect(peers.find(3)?.admin).to.equal(undefined);
  });
});
