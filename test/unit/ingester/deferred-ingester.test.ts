import { expect } from 'chai';

import { DeferredIngester } from '#services/ingester/deferred-ingester';
import { ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { failureCode } from '#test/support/failure';
import { partialIngester, SCAN, scanChunk, writeRequest } from '#test/support/partial-ingester';

const call = ownCall('test');

describe('DeferredIngester', () => {
  let dropped: number[];
  let metadata: Pick<MetadataService, 'getTable'> | undefined;
  beforeEach(() => {
    dropped = [];
    metadata = { getTable: () => Promise.reject(new AlmanacError('table_not_found', 'it was dropped')) };
  });

  const started = () => ({
    service: partialIngester({
      dropTables: ({ tableIds }) => {
        dropped.push(...tableIds);
        return Promise.resolve({});
      },
      write: () => Promise.resolve({ unknownSeries: [], incarnation: BigInt(dropped.length) }),
      async *scan() {
        yield await Promise.resolve(scanChunk(3));
      },
    }),
    tableDropped: (tableId: number) => void dropped.push(tableId),
  });

  const write = (late: DeferredIngester) => late.service.write(writeRequest(new Uint8Array(0)), call);

  it('refuses everything except drops until it has started', async () => {
    const late = new DeferredIngester(() => metadata);
    expect(await failureCode(write(late))).to.equal('region_not_ready');
    const scanning = late.service.scan(SCAN, call)[Symbol.asyncIterator]().next();
    expect(await failureCode(scanning)).to.equal('region_not_ready');
    expect(await late.service.dropTables({ tableIds: [1, 2] }, call)).to.deep.equal({});
  });

  it('confirms no drop of a table that exists, or while metadata cannot be reached', async () => {
    const late = new DeferredIngester(() => metadata);
    metadata = { getTable: () => Promise.resolve({ name: 't' } as Table) };
    expect(await failureCode(late.service.dropTables({ tableIds: [1] }, call))).to.equal('region_not_ready');
    metadata = undefined;
    expect(await failureCode(late.service.dropTables({ tableIds: [1] }, call))).to.equal('region_not_ready');
    late.start(started());
    expect(dropped).to.deep.equal([]);
  });

  it('discards tables that were dropped before it serves, and later ones at once', async () => {
    const late = new DeferredIngester(() => metadata);
    await late.service.dropTables({ tableIds: [1, 2] }, call);
    late.tableDropped(3);
    late.start(started());
    expect((await write(late)).incarnation).to.equal(3n);
    await late.service.dropTables({ tableIds: [4] }, call);
    late.tableDropped(5);
    expect(dropped.toSorted()).to.deep.equal([1, 2, 3, 4, 5]);
    const scanned: number[] = [];
    for await (const { parts } of late.service.scan(SCAN, call)) scanned.push(...parts.map((it) => it.seriesFrom));
    expect(scanned).to.deep.equal([3]);
  });
});
