import { expect } from 'chai';

import { BUSY } from '#services/ingester/settings';
import { StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const DAY_NS = 86_400_000_000_000n;
const DAYS = 6;
/** Segments of a day that are worth a merge while rows arrive. */
const SEGMENTS = 4;

describe('requested merges', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it('and background merges run one after the other', async () => {
    let underWay = 0;
    let most = 0;
    const rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      {
        config: {
          compaction: { isAutomatic: true, intervalMs: 1, quietMs: 600_000, busy: BUSY, segmentRows: 1 << 19 },
        },
        metadata: (service) => ({
          replaceSegments: async (request, call) => {
            most = Math.max(most, ++underWay);
            try {
              return await service.replaceSegments(request, call);
            } finally {
              underWay--;
            }
          },
        }),
      },
    );
    cleanUps.push(() => rig.stop());
    const table = await rig.table('t');
    for (let i = 0; i < SEGMENTS; i++) {
      const rows = Array.from({ length: DAYS }, (_, day) => ({
        host: 'x',
        time: BigInt(day) * DAY_NS + BigInt(i),
        a: i,
      }));
      await rig.write(table, rows);
      await rig.flush(table);
    }
    await rig.compact(table);
    expect(most).to.equal(1);
    expect(rig.log.lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(await rig.count(table)).to.equal(DAYS * SEGMENTS);
  });
});
