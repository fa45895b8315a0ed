import { expect } from 'chai';

import { encodeRecord } from '#services/ingester/wal/record';
import { Wal, type WalOptions } from '#services/ingester/wal/wal';
import { pollUntil } from '#test/support/almanac';
import { HeldFiles } from '#test/support/held-files';
import { ManualClock } from '#test/support/manual-clock';
import { tempFolder } from '#test/support/temp-folder';

describe('Wal on a disk that fills up', () => {
  const clock = new ManualClock();
  let cleanUps: (() => void)[] = [];
  let held: HeldFiles;
  let events: string[];
  let wal: Wal;

  beforeEach(() => {
    held = new HeldFiles();
    events = [];
  });
  afterEach(async () => {
    await wal.close();
    for (const cleanUp of cleanUps) cleanUp();
    cleanUps = [];
  });

  async function open(overrides: Partial<WalOptions> = {}): Promise<void> {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const onBroken = (): void => void events.push('broken');
    const onFull = (): void => void events.push('full');
    const onSpace = (): void => void events.push('space');
    const base = { folder, fs: held.fileSystem, clock, sync: 'group', fileBytesMax: 4096 } as const;
    wal = await Wal.open({ ...base, onBroken, onFull, onSpace, ...overrides }, []);
  }

  function append(sequenceFrom: bigint, batch = new Uint8Array(64)): Promise<void> {
    const ids = { batchId: new Uint8Array(16), tableId: 1, regionId: 7, epoch: 1, schemaVersion: 1, firstSid: 0 };
    const parts = encodeRecord({ ...ids, sequenceFrom, rowCount: 1 }, new Uint8Array(4), batch);
    return new Promise((onDurable, onFailed) => {
      wal.append({ regionId: 7, sequenceTo: sequenceFrom + 1n, parts, onDurable, onFailed });
    });
  }

  function failure(code: string): Error {
    return Object.assign(new Error(`${code}: as the disk says`), { code });
  }

  /** Lets the log retry several times, or until it has space. */
  async function retried(): Promise<void> {
    await pollUntil(performance.now() + 200, async () => {
      await clock.advance(1_000);
      return events.includes('space');
    });
  }

  it('waits for as much space as the failed records need, and adds no file while it has none', async () => {
    await open();
    held.freeBytes = 6_000;
    const large = new Uint8Array(8_000);
    const attempt = (): Promise<unknown> => append(0n, large).catch((error: unknown) => error);
    expect(await attempt()).to.include({ code: 'storage_unavailable' });
    await retried();
    await attempt();
    expect(events).to.deep.equal(['full']);
    held.freeBytes = 10_000;
    await retried();
    expect(events).to.deep.equal(['full', 'space']);
    expect(wal.files.map(({ number }) => number)).to.deep.equal([1]);
    await append(0n, large);
  });

  it('closes in order when the last write fails meanwhile', async () => {
    await open();
    await append(0n);
    held.writeError = failure('ENOSPC');
    const refused = append(1n).catch((error: unknown) => error);
    await wal.close();
    expect(await refused).to.include({ code: 'storage_unavailable' });
    expect(events).to.deep.equal(['full']);
  });

  it('breaks for good if a sync of acknowledged records fails while it waits for space', async () => {
    await open({ sync: 'interval' });
    await append(0n);
    held.hold();
    const synced = wal.syncNow();
    await held.arrived(1);
    held.writeError = failure('ENOSPC');
    await append(1n).catch(() => undefined);
    held.syncError = failure('EIO');
    held.releaseAll();
    await synced;
    expect(events).to.deep.equal(['full', 'broken']);
    held.syncError = undefined;
    held.writeError = undefined;
    await retried();
    expect(events).to.deep.equal(['full', 'broken']);
    expect(() => wal.checkWritable()).to.throw('does not accept writes');
  });
});
