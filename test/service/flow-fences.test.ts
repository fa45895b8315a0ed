import { expect } from 'chai';

import type { FlowOwner, Table } from '#shared/contracts/gen/common';
import { refusal } from '#test/support/failure';
import { CALL, StorageRig, type RigRow, type Transport } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

for (const transport of ['direct', 'grpc'] as const) {
  describe(`fences of flows, ${transport}`, () => fenceSuite(transport));
}

function fenceSuite(transport: Transport): void {
  let cleanUps: (() => void)[] = [];
  let rig: StorageRig;
  let table: Table;

  beforeEach(async () => {
    rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      { transport },
    );
    table = await rig.table('t');
  });

  afterEach(async () => {
    await rig.stop();
    for (const cleanUp of cleanUps) cleanUp();
    cleanUps = [];
  });

  /** @returns the code with which the row is refused; undefined: it is stored. */
  async function refused(row: RigRow, flow?: FlowOwner): Promise<string | undefined> {
    const error = await refusal(rig.ingester.service.write(rig.request(table, [row], { flow }), CALL));
    return error?.code;
  }

  const fence = (owner: FlowOwner): Promise<object> => rig.ingester.service.fenceFlow(owner, CALL);
  const row = (time: bigint): RigRow => ({ host: 'x', time, a: Number(time) });

  it('refuse results of earlier owners, and nothing else', async () => {
    expect(await refused(row(1n), { flowId: 1, epoch: 4 }), 'before').to.equal(undefined);
    await fence({ flowId: 1, epoch: 5 });
    expect(await refused(row(2n), { flowId: 1, epoch: 4 }), 'earlier owner').to.equal('illegal_state');
    expect(await refused(row(3n), { flowId: 1, epoch: 5 }), 'owner').to.equal(undefined);
    expect(await refused(row(4n), { flowId: 1, epoch: 6 }), 'later owner').to.equal(undefined);
    expect(await refused(row(5n), { flowId: 2, epoch: 1 }), 'another flow').to.equal(undefined);
    expect(await refused(row(6n)), 'no flow').to.equal(undefined);
    expect(await rig.rows(table)).to.deep.equal([row(1n), row(3n), row(4n), row(5n), row(6n)]);
  });

  it('never go back', async () => {
    await fence({ flowId: 1, epoch: 5 });
    await fence({ flowId: 1, epoch: 3 });
    expect(await refused(row(1n), { flowId: 1, epoch: 4 })).to.equal('illegal_state');
  });

  it('show what was accepted before them', async () => {
    for (let epoch = 1; epoch <= 20; epoch++) {
      const write = refused(row(BigInt(epoch)), { flowId: 1, epoch });
      await fence({ flowId: 1, epoch: epoch + 1 });
      const seen = await rig.rows(table);
      const isStored = (await write) === undefined;
      expect(
        seen.some(({ time }) => time === BigInt(epoch)),
        `result of owner ${epoch}`,
      ).to.equal(isStored);
    }
  });
}
