import { expect } from 'chai';
import fc from 'fast-check';

import type { SampleStore } from '#services/querier/samples/sample-store';
import type { SampleSeries } from '#services/querier/promql/runtime/samples';
import type { Table } from '#shared/contracts/gen/common';
import { UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import { matcher, openSamples, printed, selectSamples } from '#test/support/sample-rig';
import { CALL, StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const HOUR_S = 3600;
const HOUR_MS = HOUR_S * 1000;
const NS_PER_S = 1_000_000_000n;

/** What happens to a table between two queries. */
type Step =
  | { readonly kind: 'write' | 'delete'; readonly hours: number; readonly count: number; readonly value: number }
  | { readonly kind: 'flush' }
  | { readonly kind: 'compact' }
  | { readonly kind: 'query'; readonly fromHours: number; readonly lengthHours: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('write' as const, 'write' as const, 'write' as const, 'delete' as const),
    hours: fc.integer({ min: 0, max: 12 }),
    count: fc.integer({ min: 1, max: 5 }),
    value: fc.integer({ min: 0, max: 9 }),
  }),
  fc.record({ kind: fc.constant('flush' as const) }),
  fc.record({ kind: fc.constant('compact' as const) }),
  fc.record({
    kind: fc.constant('query' as const),
    fromHours: fc.integer({ min: 0, max: 12 }),
    lengthHours: fc.integer({ min: 1, max: 8 }),
  }),
);

describe('the series of a selector, which are kept between queries', () => {
  const cleanUps: (() => unknown)[] = [];
  let rig: StorageRig;
  let store: SampleStore;
  let readCount = 0;

  before(async () => {
    rig = await StorageRig.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    cleanUps.push(() => rig.stop());
    const spillFolder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const opened = await openSamples(rig, spillFolder, undefined, () => readCount++);
    cleanUps.push(() => opened.close());
    ({ store } = opened);
  });

  after(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function write(table: Table, fromS: number, count: number, value: number, isDeleted = false): Promise<void> {
    const hosts = ['x', 'y', 'z'];
    const rows = hosts.flatMap((host, h) =>
      Array.from({ length: count }, (_, i) => {
        const time = BigInt(fromS + i * (h === 2 ? 7 : 10)) * NS_PER_S;
        return isDeleted ? { host, time, isDeleted } : { host, time, a: value + h / 10 + i };
      }),
    );
    await rig.write(table, rows);
  }

  async function around(name: string, fromMs: number, toMs: number): Promise<readonly SampleSeries[]> {
    const open = await store.open('public', CALL, UNCOUNTED_SLOT);
    try {
      return await open.selectAround([matcher(`__name__=${name}`)], fromMs, toMs);
    } finally {
      open.close();
    }
  }

  async function expectSame(name: string, fromMs: number, toMs: number): Promise<void> {
    const kept = (await around(name, fromMs, toMs)).map((series) => {
      const within = Array.from(series.times, (_, i) => i).filter((i) => {
        return series.times[i] > fromMs && series.times[i] <= toMs;
      });
      const times = Float64Array.from(within, (i) => series.times[i]);
      return { ...series, times, values: Float64Array.from(within, (i) => series.values[i]) };
    });
    const found = printed(kept.filter(({ times }) => times.length > 0));
    expect(found).to.deep.equal(await selectSamples(store, [`__name__=${name}`], [fromMs, toMs]));
  }

  it('are those of the rows, whatever was written, flushed, merged and queried before', async function () {
    this.timeout(120_000);
    let tableCount = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 4, maxLength: 14 }), async (steps) => {
        const name = `m${tableCount++}`;
        const table = await rig.table(name);
        for (const step of steps) {
          switch (step.kind) {
            case 'flush':
              await rig.flush(table);
              break;
            case 'compact':
              await rig.compact(table);
              break;
            case 'query': {
              const { fromHours, lengthHours } = step;
              await expectSame(name, fromHours * HOUR_MS, (fromHours + lengthHours) * HOUR_MS);
              break;
            }
            default:
              await write(table, step.hours * HOUR_S, step.count, step.value, step.kind === 'delete');
          }
        }
        await expectSame(name, 0, 13 * HOUR_MS);
      }),
      { numRuns: 40 },
    );
  });

  it('are extended by what is flushed later, without reading earlier segments again', async () => {
    const table = await rig.table('growing');
    const toMs = HOUR_MS;
    await write(table, 100, 5, 1);
    await rig.flush(table);
    await write(table, 200, 5, 2);
    await rig.flush(table);
    await around('growing', 0, toMs);
    readCount = 0;
    await write(table, 300, 5, 3);
    await rig.flush(table);
    const series = await around('growing', 0, toMs);
    expect(readCount).to.equal(1);
    expect(series.map(({ times }) => times.length)).to.deep.equal([15, 15, 15]);
    await write(table, 150, 2, 4);
    await rig.flush(table);
    await expectSame('growing', 0, toMs);
  });
});
