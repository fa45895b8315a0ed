import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { Gate } from '#test/support/gate';
import { StorageRig, type RigOptions, type RigRow } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const ROW: RigRow = { host: 'x', time: 1n, a: 1 };

describe('granted regions', () => {
  let cleanUps: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
    cleanUps = [];
  });

  async function start(options: RigOptions): Promise<StorageRig> {
    const rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      options,
    );
    cleanUps.push(() => rig.stop());
    return rig;
  }

  it('are opened at once, and retried after a failure', async () => {
    let asked = 0;
    const opened = new Gate();
    const rig = await start({
      metadata: (service) => ({
        openRegion: async (request, call) => {
          if (++asked === 1) throw new AlmanacError('external', 'metadata is away');
          void opened.pass();
          return service.openRegion(request, call);
        },
      }),
    });
    rig.ingester.tableChanged(await rig.table('t'));
    await opened.reached;
    expect(asked).to.equal(2);
  });

  it('are opened if they are granted to the same node again before the reply to its seal arrives', async () => {
    const rig: StorageRig = await start({
      metadata: (service) => ({
        sealRegion: async (request, call) => {
          const answer = await service.sealRegion(request, call);
          rig.ingester.tableChanged(await rig.table('t'));
          return answer;
        },
        openRegion: (request, call) => {
          if (++asked === 2) void opened.pass();
          return service.openRegion(request, call);
        },
      }),
    });
    let asked = 0;
    const opened = new Gate();
    const table = await rig.table('t');
    await rig.write(table, [ROW]);
    await rig.ingester.handOver([table.regions[0].regionId], 0);
    await opened.reached;
  });

  it('are not opened after the ingester has stopped', async () => {
    const asked = new Gate();
    let isUnderWay = false;
    const rig = await start({
      metadata: () => ({
        openRegion: (_, { signal }) => {
          isUnderWay = true;
          void asked.pass();
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              isUnderWay = false;
              reject(new AlmanacError('cancelled', 'the process ends'));
            });
          });
        },
      }),
    });
    rig.ingester.tableChanged(await rig.table('t'));
    await asked.reached;
    await rig.ingester.stop();
    expect(isUnderWay).to.equal(false);
  });
});
