import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { pollUntil } from '#test/support/almanac';
import { failure } from '#test/support/failure';
import { CALL, StorageRig, type RigRow } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const ROW: RigRow = { host: 'x', time: 1n, a: 1 };
/** Each record gets a log file, which is deleted as soon as its rows are in a segment. */
const CONFIG = { retryWindowMs: 0, walFileBytes: 1 };

describe('ids of batches whose log files are deleted', () => {
  let cleanUps: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
    cleanUps = [];
  });

  async function start(folder: string): Promise<StorageRig> {
    const rig = await StorageRig.start(folder, { config: CONFIG });
    cleanUps.push(() => rig.stop());
    return rig;
  }

  function logFiles(folder: string): string[] {
    return readdirSync(join(folder, 'slots/0/wal')).filter((name) => name.endsWith('.wal'));
  }

  /** Starts a rig after a crash, with a batch whose log file was deleted before. */
  async function afterDeletion() {
    const rig = await start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    const table = await rig.table('t', { append_mode: 'true' });
    const request = rig.request(table, [ROW]);
    await rig.ingester.service.write(request, CALL);
    const [first] = logFiles(rig.folder);
    await rig.write(table, [ROW]);
    await rig.flush(table);
    const isForgotten = (): Promise<boolean> => Promise.resolve(!logFiles(rig.folder).includes(first));
    expect(await pollUntil(performance.now() + 30_000, isForgotten)).to.equal(true);
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(folder);
    return { folder, table, request };
  }

  it('survive a restart, and another one', async () => {
    const { folder, table, request } = await afterDeletion();
    const rig = await start(folder);
    await rig.ingester.service.write(request, CALL);
    expect(await rig.count(table)).to.equal(2);
    // This run deletes more of the log, without having opened all regions.
    await rig.write(table, [ROW]);
    await rig.flush(table);
    const other = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(other);
    const third = await start(other);
    await third.ingester.service.write(request, CALL);
    expect(await third.count(table)).to.equal(3);
  });

  it('survive also for a region that could not be opened while the log was replayed', async () => {
    const rig = await start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    const table = await rig.table('t', { append_mode: 'true' });
    const request = rig.request(table, [ROW]);
    await rig.ingester.service.write(request, CALL);
    await rig.flush(table);
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(folder);
    const store = join(folder, 'store');
    const name = readdirSync(store, { recursive: true, encoding: 'utf8' }).find((it) => it.includes('series-'))!;
    const whole = readFileSync(join(store, name));
    rmSync(join(store, name));
    const before = logFiles(folder);

    const second = await start(folder);
    expect(second.log.messages('error')).to.deep.equal([]);
    const isForgotten = (): Promise<boolean> =>
      Promise.resolve(before.every((file) => !logFiles(second.folder).includes(file)));
    expect(await pollUntil(performance.now() + 30_000, isForgotten)).to.equal(true);
    const later = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    second.crashImage(later);
    for (const [life, place] of [[second, second.folder] as const, [undefined, later] as const]) {
      writeFileSync(join(place, 'store', name), whole);
      const healed = life ?? (await start(place));
      await healed.ingester.service.write(request, CALL);
      expect(await healed.count(table)).to.equal(1);
    }
  });

  it('prevent the start if their file is damaged, with an error that says what to do', async () => {
    const { folder } = await afterDeletion();
    const path = join(folder, 'slots/0/wal/applied.json');
    writeFileSync(path, readFileSync(path).subarray(0, 20));
    const { message } = await failure(StorageRig.start(folder, { config: CONFIG }));
    expect(message).to.contain('applied.json" cannot be read: remove it to continue without it');
  });
});
