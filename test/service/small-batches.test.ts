import { expect } from 'chai';

import { Gate } from '#test/support/gate';
import { CALL, StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const MEMORY = 1 << 20;
/** Heap bytes of a batch of one row and one column are more than this, besides its arrays. */
const OBJECT_BYTES = 1_500;

describe('batches of one row', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it('count with the memory of their objects', async () => {
    const gate = new Gate();
    const rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      {
        config: { memtableBytes: MEMORY },
        metadata: (service) => ({
          commitSegments: async (request, call) => {
            await gate.pass();
            return service.commitSegments(request, call);
          },
        }),
      },
    );
    cleanUps.push(() => rig.stop());
    cleanUps.push(() => gate.open());
    const table = await rig.table('t');
    let written = 0;
    let refusal = '';
    for (; refusal === ''; written++) {
      const request = rig.request(table, [{ host: 'x', time: BigInt(written), a: 1 }]);
      const bytes = request.batch.length + request.definitions.length;
      expect((written * (bytes + OBJECT_BYTES)) / MEMORY).to.be.below(1);
      const call = { ...CALL, deadlineMs: 0 };
      refusal = await rig.ingester.service.write(request, call).then(
        () => '',
        (error: unknown) => (error as { code: string }).code,
      );
    }
    expect(refusal).to.equal('region_busy');
  });
});
