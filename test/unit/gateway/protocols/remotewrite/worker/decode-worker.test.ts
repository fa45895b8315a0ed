import { expect } from 'chai';
import { compressSync } from 'snappy';

import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { DecodeWorker } from '#services/gateway/protocols/remotewrite/worker/decode-worker';
import { systemClock } from '#shared/clock/clock';
import type { LoopLoad } from '#shared/clock/loop-load';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { RemoteWriteRig } from '#test/support/remote-write-rig';

const BUSY = { isBusy: true } as LoopLoad;

function seriesFrom(first: number): Series[] {
  return Array.from({ length: 2_000 }, (_, i) => ({
    labels: [
      ['__name__', 'm'],
      // Little of it can be compressed.
      ['instance', `${(first + i) * 7919}-${Math.sin(first + i)}`],
    ],
    samples: [{ value: Math.cos(i), timestamp: 1_700_000_000_000 }],
  }));
}

describe('the decode worker of remote write', () => {
  const known = bodyV1(seriesFrom(0));
  const packed = compressSync(known);

  function rigWith(body: Buffer): RemoteWriteRig {
    const rig = new RemoteWriteRig();
    rig.decode(1, body);
    return rig;
  }

  function rowCount(helper: DecodeWorker, { cache }: RemoteWriteRig, body: Buffer): Promise<number | undefined> {
    return helper.match(cache, body, known.length, (rows) => rows.rowCount);
  }

  it('is used when the main thread is busy, for bodies above a size', () => {
    const { cache } = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    expect(helper.isWorthwhile(cache, packed, known.length)).to.equal(true);
    expect(helper.isWorthwhile(cache, packed.subarray(0, 100), 1_000)).to.equal(false);
    expect(helper.isWorthwhile(cache, packed, 100_000_000)).to.equal(false);
    expect(helper.isWorthwhile(cache, packed, 0)).to.equal(false);
    expect(helper.isWorthwhile(cache, Buffer.alloc(9_000_000), known.length)).to.equal(false);
    expect(helper.isWorthwhile(new RemoteWriteRig().cache, packed, known.length)).to.equal(false);
    const idle = new DecodeWorker(new CacheMemory(1e7), systemClock, { isBusy: false } as LoopLoad);
    expect(idle.isWorthwhile(cache, packed, known.length)).to.equal(false);
  });

  it('reads bodies of known series, of several caches at once', async () => {
    const [a, b] = [rigWith(known), rigWith(bodyV1(seriesFrom(9_000)))];
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    const other = compressSync(bodyV1(seriesFrom(9_000)));
    const counts = await Promise.all([rowCount(helper, a, packed), rowCount(helper, b, other)]);
    expect(counts).to.deep.equal([2_000, 2_000]);
    expect(await rowCount(helper, b, packed)).to.equal(undefined);
  });

  it('learns series that arrived meanwhile, and counts what it decodes', async () => {
    const rig = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    expect(await rowCount(helper, rig, packed)).to.equal(2_000);
    const more = bodyV1(seriesFrom(2_000));
    expect(await rowCount(helper, rig, compressSync(more))).to.equal(undefined);
    rig.decode(1, more);
    expect(await rowCount(helper, rig, compressSync(more))).to.equal(2_000);
  });

  it('leaves damaged bodies to the main thread, and skips the next ones of their cache', async () => {
    const rig = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    expect(await rowCount(helper, rig, Buffer.alloc(10_000, 0xff))).to.equal(undefined);
    const asked = (): boolean => helper.isWorthwhile(rig.cache, packed, known.length);
    expect([asked(), asked()]).to.deep.equal([false, true]);
    expect(await rowCount(helper, rig, Buffer.alloc(10_000, 0xff))).to.equal(undefined);
    expect([asked(), asked(), asked(), asked()]).to.deep.equal([false, false, false, true]);
    expect(await rowCount(helper, rig, packed)).to.equal(2_000);
    expect(asked()).to.equal(true);
  });

  it('returns the rows of each body to its own caller, whatever the others contain', async () => {
    const rig = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    const bodyOf = (value: number, count: number): Buffer =>
      compressSync(
        bodyV1(
          seriesFrom(0)
            .map((it) => ({ ...it, samples: [{ value, timestamp: value }] }))
            .slice(0, count),
        ),
      );
    const counts = [2_000, 1_500, 700, 2_000, 1];
    const damaged = Buffer.alloc(10_000, 0xff);
    const bodies = counts.flatMap((count, i) => [bodyOf(i, count), damaged]);
    for (let round = 0; round < 3; round++) {
      const matched = await Promise.all(
        bodies.map((body) =>
          helper.match(rig.cache, body, known.length, ({ values, times, numbers }) => ({
            distinct: [...new Set(values), ...new Set(times)],
            numbers: [...numbers],
          })),
        ),
      );
      const expected = counts.flatMap((count, i) => [
        { distinct: [i, BigInt(i)], numbers: Array.from({ length: count }, (_, number) => number) },
        undefined,
      ]);
      expect(matched).to.deep.equal(expected);
    }
  });

  it('reads bodies that are larger than those before them', async () => {
    const rig = rigWith(known);
    const many = bodyV1(Array.from({ length: 20 }, () => seriesFrom(0)).flat());
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    const read = (body: Buffer): Promise<number | undefined> =>
      helper.match(rig.cache, compressSync(body), body.length, (rows) => rows.rowCount);
    expect(await Promise.all([known, many, known, many].map(read))).to.deep.equal([2_000, 40_000, 2_000, 40_000]);
    helper.clear();
    expect(await read(known)).to.equal(2_000);
  });

  it('frees the memory of a body whose rows are not taken', async () => {
    const rig = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    const failing = helper.match(rig.cache, packed, known.length, () => {
      throw new Error('not taken');
    });
    expect(await failing.catch((error: unknown) => String(error))).to.equal('Error: not taken');
    expect(await rowCount(helper, rig, packed)).to.equal(2_000);
  });

  it('drops the series that a cache drops', async () => {
    const rig = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    const reading = rowCount(helper, rig, packed);
    rig.cache.clear();
    // The numbers of this answer mean nothing any more.
    expect(await reading).to.equal(undefined);
    const other = bodyV1(seriesFrom(5_000));
    rig.decode(1, other);
    expect(await rowCount(helper, rig, packed)).to.equal(undefined);
    expect(await rowCount(helper, rig, compressSync(other))).to.equal(2_000);
    helper.clear();
    expect(await rowCount(helper, rig, compressSync(other))).to.equal(2_000);
  });

  it('leaves its bodies to the main thread when it dies, and is not used for a minute', async () => {
    const rig = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    expect(await rowCount(helper, rig, packed)).to.equal(2_000);
    const reading = rowCount(helper, rig, packed);
    await helper.stop();
    // Resolves whether the body was matched before the end or not.
    expect((await reading) ?? 0).to.be.oneOf([0, 2_000]);
    expect(helper.isWorthwhile(rig.cache, packed, known.length)).to.equal(false);
  });
});
