import { expect } from 'chai';

import { AppliedIds } from '#services/ingester/region/applied-ids';
import { loggedIds, loggedPositions } from '#services/ingester/region/log-summary';
import { encodeRecord } from '#services/ingester/wal/record';
import { Wal } from '#services/ingester/wal/wal';
import { systemClock } from '#shared/clock/clock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { tempFolder } from '#test/support/temp-folder';

const [FIRST, SECOND, THIRD] = [1, 2, 3];

/** Returns an id derived from a key: the highest bit of its first eight bytes is set. */
function keyed(key: number): Uint8Array {
  const id = new Uint8Array(16).fill(key);
  id[7] = 0x80;
  return id;
}

function newIds(): AppliedIds {
  return new AppliedIds({ clock: systemClock, windowMs: 0, onEarlyDiscard: () => undefined });
}

describe('summary of a log for a backup', () => {
  const cleanUps: (() => unknown)[] = [];

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  /** Region, epoch, sequence before the rows, rows, key of the batch. */
  type Logged = readonly [regionId: number, epoch: number, from: bigint, rows: number, key: number];

  async function log(...records: readonly Logged[]): Promise<string> {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const place = { folder, fs: nodeFileSystem, clock: systemClock };
    const wal = await Wal.open({ ...place, sync: 'none', fileBytesMax: 200, onBroken: () => undefined }, []);
    for (const [regionId, epoch, sequenceFrom, rowCount, key] of records) {
      const header = { batchId: keyed(key), tableId: 1, regionId, epoch, schemaVersion: 1 };
      const rows = { sequenceFrom, rowCount, firstSid: 0 };
      const parts = encodeRecord({ ...header, ...rows }, new Uint8Array(0), new Uint8Array(8));
      await new Promise<void>((resolve, reject) => {
        const sequenceTo = sequenceFrom + BigInt(rowCount);
        wal.append({ regionId, sequenceTo, parts, onDurable: resolve, onFailed: reject });
      });
    }
    await wal.close();
    return folder;
  }

  it('has the last row of each region, under its last epoch', async () => {
    const logs = [
      await log([FIRST, 1, 10n, 5, 1], [SECOND, 1, 100n, 1, 2], [FIRST, 1, 15n, 2, 3]),
      await log([SECOND, 2, 20n, 3, 4], [FIRST, 1, 2n, 1, 5]),
    ];
    expect(await loggedPositions(logs, nodeFileSystem)).to.deep.equal(
      new Map([
        [FIRST, { epoch: 1, sequence: 17n }],
        [SECOND, { epoch: 2, sequence: 23n }],
      ]),
    );
  });

  it('has the ids of batches whose rows are in segments, with those of the last seal', async () => {
    const records: Logged[] = [
      [FIRST, 2, 10n, 5, 1],
      [FIRST, 2, 15n, 5, 2],
      [FIRST, 2, 20n, 1, 3],
      [FIRST, 1, 5n, 1, 4],
      [SECOND, 1, 0n, 1, 5],
      [THIRD, 1, 0n, 1, 6],
    ];
    const sealed = newIds();
    sealed.add(keyed(9));
    const regions = [
      { regionId: FIRST, epoch: 2, watermark: 20n },
      { regionId: SECOND, epoch: 1, watermark: 0n },
    ];
    const known = new Map([[FIRST, sealed.encode()]]);
    const told = await loggedIds([await log(...records)], regions, known, nodeFileSystem);
    expect([...told.keys()]).to.deep.equal([FIRST]);
    const ids = newIds();
    ids.merge(told.get(FIRST)!);
    const states = [1, 2, 3, 4, 9].map((key) => ids.state(keyed(key)));
    expect(states).to.deep.equal(['applied', 'applied', 'new', 'new', 'applied']);
  });
});
