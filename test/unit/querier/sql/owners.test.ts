import { expect } from 'chai';

import { atAllOwners } from '#services/querier/sql/run/owners';
import type { StatementDeps } from '#services/querier/sql/statement';
import { ownCall } from '#shared/contracts/call';
import type { RegionInfo, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { failureCode } from '#test/support/failure';
import { partialIngester } from '#test/support/partial-ingester';

const call = ownCall('test');

describe('atAllOwners', () => {
  /** A table whose regions the nodes own; node 0 stands for no node. */
  function deps(nodeIds: readonly number[]): { readonly deps: StatementDeps; readonly table: Table } {
    const regions = nodeIds.map((nodeId, index): RegionInfo => {
      return { regionId: index + 1, index, epoch: 1, nodeId, idsSinceEpoch: 1 };
    });
    const table = { tableId: 1, name: 't', regions } as unknown as Table;
    const ingesters: StatementDeps['ingesters'] = {
      ownerOf({ nodeId }) {
        if (nodeId === 0) throw new AlmanacError('region_not_ready', 'no node owns it');
        return partialIngester({});
      },
      isAway: () => false,
    };
    const metadata = { getTable: () => Promise.resolve(table) };
    return { deps: { ingesters, metadata } as unknown as StatementDeps, table };
  }

  it('requests each owner once for all of its regions', async () => {
    const { deps: owners, table } = deps([7, 8, 7]);
    const requests: (readonly number[])[] = [];
    await atAllOwners(owners, table, call, (_, regionIds) => Promise.resolve(requests.push(regionIds)));
    expect(requests).to.deep.equal([[1, 3], [2]]);
  });

  it('leaves no unhandled rejection when another region has no owner', async () => {
    const { deps: owners, table } = deps([7, 0]);
    const unhandled: unknown[] = [];
    const record = (reason: unknown): void => void unhandled.push(reason);
    const before = process.rawListeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', record);
    try {
      const fail = (): Promise<never> => Promise.reject(new AlmanacError('external', 'it left'));
      expect(await failureCode(atAllOwners(owners, table, call, fail))).to.equal('region_not_ready');
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.removeAllListeners('unhandledRejection');
      for (const listener of before) process.on('unhandledRejection', listener as () => void);
    }
  });
});
