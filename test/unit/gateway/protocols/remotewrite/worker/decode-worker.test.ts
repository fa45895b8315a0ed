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

  async function rowCount(helper: DecodeWorker, { cache }: RemoteWriteRig, body: Buffer): Promise<number | undefined> {
    return (await helper.match(cache, body))?.rowCount;
  }

  it('is used when the main thread is busy, for bodies above a size', () => {
    const { cache } = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    expect(helper.isWorthwhile(cache, packed, known.length)).to.equal(true);
    expect(helper.isWorthwhile(cache, packed.subarray(0, 100), 1_000)).to.equal(false);
    expect(helper.isWorthwhile(cache, packed, 100_000_000)).to.equal(false);
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
    const matched = await Promise.all(bodies.map((body) => helper.match(rig.cache, body)));
    expect(matched.map((rows) => rows?.rowCount)).to.deep.equal(counts.flatMap((count) => [count, undefined]));
    for (const [i, count] of counts.entries()) {
      const rows = matched[2 * i];
      expect([...new Set(rows?.values), ...new Set(rows?.times)]).to.deep.equal([i, BigInt(i)]);
      expect([...(rows?.numbers ?? [])]).to.deep.equal(Array.from({ length: count }, (_, number) => number));
    }
  });

  it('drops the series that a cache drops', async () => {
    const rig = rigWith(known);
    const helper = new DecodeWorker(new CacheMemory(1e7), systemClock, BUSY);
    const reading = helper.match(rig.cache, packed);
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
    const reading = helper.match(rig.cache, packed);
    await helper.stop();
    // Resolves whether the body was matched before the end or not.
    expect((await reading)?.rowCount ?? 0).to.be.oneOf([0, 2_000]);
    expect(helper.isWorthwhile(rig.cache, packed, known.length)).to.equal(false);
  });
});
