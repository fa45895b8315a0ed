import { expect } from 'chai';

import { FlowLeases } from '#services/metadata/flow-leases';
import type { NodeRecord } from '#services/metadata/store/nodes';
import type { Flow } from '#shared/contracts/gen/metadata';
import { ManualClock } from '#test/support/manual-clock';

const LEASE_MS = 1000;

function querier(nodeId: number, state: NodeRecord['state'] = 'ready'): NodeRecord {
  const rest = { addr: '', version: '', registeredMs: 0, slot: '', regionCount: 0, stateMs: 0, dataFolderId: '' };
  return { nodeId, role: 'querier', state, ...rest };
}

function flow(flowId: number, nodeId: number, sinkTable = `sink${flowId}`): Flow {
  const spec = {
    ...{ name: `f${flowId}`, database: 'public', timezone: 'UTC', query: '', sinkDatabase: 'public', sinkTable },
    ...{ sources: [], isStreaming: false, expireAfterMs: 0, expireAfter: '', evalIntervalMs: 0, evalInterval: '' },
    ...{ comment: '', options: {} },
  };
  const flushes = { flushRequested: 0n, flushDone: 0n, flushRows: 0n, flushError: '' };
  const times = { createdMs: 0, updatedMs: 0, lastRunMs: 0, lastError: '' };
  return { flowId, spec, version: 1, nodeId, epoch: 1, positions: [], needsRebuild: false, ...flushes, ...times };
}

describe('FlowLeases', () => {
  let clock: ManualClock;
  let leases: FlowLeases;

  beforeEach(async () => {
    clock = new ManualClock();
    leases = new FlowLeases(LEASE_MS, clock);
    // Leases that an earlier metadata process gave have ended.
    await clock.advance(LEASE_MS + 1);
  });

  const changed = (nodeId: number, flows: readonly Flow[], nodes: readonly NodeRecord[]): [number, number][] => {
    return leases.assign(nodeId, flows, nodes).changes.map((change) => [change.flowId, change.nodeId]);
  };

  it('gives new flows to the live querier with the fewest', () => {
    const nodes = [querier(1), querier(2)];
    changed(1, [], nodes);
    expect(changed(2, [flow(1, 1), flow(2, 0), flow(3, 0), flow(4, 0)], nodes)).to.deep.equal([
      [2, 2],
      [3, 1],
      [4, 2],
    ]);
  });

  it('gives a flow to another querier only after the lease of its owner has ended', async () => {
    const nodes = [querier(1), querier(2)];
    changed(1, [flow(1, 1)], nodes);
    await clock.advance(LEASE_MS);
    expect(changed(2, [flow(1, 1)], nodes)).to.deep.equal([]);
    await clock.advance(1);
    expect(changed(2, [flow(1, 1)], nodes)).to.deep.equal([[1, 2]]);
  });

  it('moves a flow at once if its owner has stopped', () => {
    const nodes = [querier(1), querier(2)];
    changed(1, [flow(1, 1)], nodes);
    leases.release(1);
    expect(changed(2, [flow(1, 1)], nodes)).to.deep.equal([[1, 2]]);
  });

  it('gives no flow to a querier that drains or sends no requests', () => {
    const nodes = [querier(1, 'draining'), querier(2), querier(3)];
    changed(1, [], nodes);
    expect(changed(3, [flow(1, 0)], nodes)).to.deep.equal([[1, 3]]);
  });

  it('lets no other querier write to the sink of a dropped flow while its owner may', async () => {
    const nodes = [querier(1), querier(2)];
    changed(2, [], nodes);
    changed(1, [flow(1, 1, 'sums')], nodes);
    expect(changed(2, [flow(2, 0, 'sums')], nodes)).to.deep.equal([[2, 1]]);
    changed(1, [flow(2, 1, 'sums')], nodes);
    await clock.advance(LEASE_MS + 1);
    expect(changed(2, [flow(3, 0, 'sums')], nodes)).to.deep.equal([[3, 2]]);
  });

  it('leaves flows with their owners for a lease after it starts', async () => {
    const restarted = new FlowLeases(LEASE_MS, clock);
    const nodes = [querier(1), querier(2)];
    expect(restarted.assign(2, [flow(1, 1)], nodes).changes).to.deep.equal([]);
    await clock.advance(LEASE_MS + 1);
    expect(restarted.assign(2, [flow(1, 1)], nodes).changes).to.deep.equal([{ flowId: 1, nodeId: 2 }]);
  });
});
