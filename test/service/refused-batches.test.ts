import { expect } from 'chai';

import { decodeRowBatch, encodeRowBatch } from '#shared/rowbatch/arrow';
import { refusal } from '#test/support/failure';
import { CALL, StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

describe('an ingester', () => {
  let cleanUp: () => void = () => undefined;
  let rig: StorageRig;

  beforeEach(async () => {
    rig = await StorageRig.start(
      tempFolder((after) => (cleanUp = after)),
      { transport: 'grpc' },
    );
  });

  afterEach(async () => {
    await rig.stop();
    cleanUp();
  });

  it('refuses a batch that no flush could write, and continues', async () => {
    const table = await rig.table('t');
    const write = (batch: Uint8Array): Promise<unknown> => {
      const request = rig.request(table, [{ host: 'x', time: 1n, a: 1 }]);
      return rig.ingester.service.write({ ...request, batch }, CALL);
    };
    const bytes = rig.request(table, [{ host: 'x', time: 1n, a: 1 }]).batch;
    const batch = decodeRowBatch(bytes.slice());
    const late = encodeRowBatch({ ...batch, times: BigInt64Array.of(-(1n << 63n)) });
    expect((await refusal(write(late.slice())))?.message).to.contain('times out of range');
    const columns = batch.columns.map((column) => ({ ...column, kind: 'fixed', values: Float32Array.of(1) }) as const);
    const other = encodeRowBatch({ ...batch, columns });
    expect((await refusal(write(other.slice())))?.message).to.match(/column \d+ of type Int64 has other values/);
    await write(bytes);
    await rig.flush(table);
    expect(await rig.count(table)).to.equal(1);
  });
});
