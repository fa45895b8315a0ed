import { expect } from 'chai';

import type { WriteRequest } from '#shared/contracts/gen/ingester';
import { NO_DEFINITIONS } from '#shared/rowbatch/definitions';
import { pollUntil } from '#test/support/almanac';
import { refusal } from '#test/support/failure';
import { HeldFiles } from '#test/support/held-files';
import { CALL, StorageRig, type RigOptions } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

describe('an ingester whose log cannot be written', () => {
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  function newFolder(): string {
    return tempFolder((cleanUp) => cleanUps.push(cleanUp));
  }

  async function start(folder: string, options?: RigOptions): Promise<StorageRig> {
    const rig = await StorageRig.start(folder, options);
    cleanUps.push(() => rig.stop());
    return rig;
  }

  for (const operation of ['write', 'sync'] as const) {
    it(`accepts writes again after a failed ${operation} on a full disk, with their series, once each`, async () => {
      const held = new HeldFiles();
      const fatal: unknown[] = [];
      const rig = await start(newFolder(), { fs: held.fileSystem, onFatal: (error) => fatal.push(error) });
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'a', time: 1n, a: 1 }]);
      const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      if (operation === 'write') held.writeError = full;
      else held.syncError = full;
      const requests = ['b', 'c', 'b'].map((host, i) => rig.request(table, [{ host, time: BigInt(2 + i), a: 2 + i }]));
      const send = (request: WriteRequest) => rig.ingester.service.write(request, CALL);
      for (const failure of await Promise.all(requests.map((request) => refusal(send(request))))) {
        expect(failure?.code).to.equal('storage_unavailable');
      }
      expect((await refusal(send(requests[0])))?.message).to.contain('no space is left on its disk');
      expect(await rig.rows(table)).to.deep.equal([{ host: 'a', time: 1n, a: 1 }]);

      held.writeError = held.syncError = undefined;
      // A batch of a series that only a failed record defined; it is not known to be applied.
      const last = { ...requests[2], definitions: NO_DEFINITIONS };
      const isAccepted = async (): Promise<boolean> => (await refusal(send(last))) === undefined;
      expect(await pollUntil(performance.now() + 5_000, isAccepted)).to.equal(true);
      await send(last);
      // The record with the definition of `c` is not replayed once its own rows are in a segment.
      await rig.flush(table);
      await send({ ...requests[1], definitions: NO_DEFINITIONS });
      await rig.write(table, [{ host: 'd', time: 9n, a: 9 }]);
      const rows = [
        { host: 'a', time: 1n, a: 1 },
        { host: 'b', time: 4n, a: 4 },
        { host: 'c', time: 3n, a: 3 },
        { host: 'd', time: 9n, a: 9 },
      ];
      expect(await rig.rows(table)).to.deep.equal(rows);
      const folder = newFolder();
      rig.crashImage(folder);
      const second = await start(folder);
      expect(await second.rows(table)).to.deep.equal(rows);
      await second.flush(table);
      expect(await second.rows(table)).to.deep.equal(rows);
      expect(fatal).to.deep.equal([]);
    });
  }

  it('ends the process if its log fails for another reason, without losing acknowledged rows', async () => {
    const held = new HeldFiles();
    const fatal: unknown[] = [];
    const rig = await start(newFolder(), { fs: held.fileSystem, onFatal: (error) => fatal.push(error) });
    const table = await rig.table('t');
    await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
    held.writeError = new Error('EIO');
    const error = await refusal(rig.write(table, [{ host: 'x', time: 2n, a: 2 }]));
    held.writeError = undefined;
    expect(error?.code).to.equal('storage_unavailable');
    expect(fatal).to.have.length(1);
    const folder = newFolder();
    rig.crashImage(folder);
    const second = await start(folder);
    expect(await second.rows(table)).to.deep.equal([{ host: 'x', time: 1n, a: 1 }]);
  });
});
