import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import type { WatchEvent } from '#shared/contracts/gen/metadata';
import { WatchHub } from '#services/metadata/watch-hub';

/** Returns an event of one manifest with this many segments. */
function event(version: number, segments = 0): WatchEvent {
  const manifest = { regionId: 1, segments: Array.from({ length: segments }, () => ({})) };
  return { catalogVersion: BigInt(version), kind: 'manifest_changed', manifest } as unknown as WatchEvent;
}

describe('the history of the catalog', () => {
  const call = ownCall('test');

  /** Returns the first event for a watcher that has seen everything up to a version. */
  async function firstAfter(hub: WatchHub, version: number): Promise<bigint> {
    const everything = (): WatchEvent[] => [event(0)];
    for await (const { catalogVersion } of hub.watch(BigInt(version), everything, call)) return catalogVersion;
    return expect.fail();
  }

  it('sends a disconnected watcher what it missed', async () => {
    const hub = new WatchHub(0n);
    for (let version = 1; version <= 4_000; version++) hub.publish(event(version, 1));
    expect(await firstAfter(hub, 5)).to.equal(6n);
  });

  it('is bounded by the number of segments', async () => {
    const hub = new WatchHub(0n);
    for (let version = 1; version <= 1_000; version++) hub.publish(event(version, 1_000));
    expect(await firstAfter(hub, 5)).to.equal(0n);
    expect(await firstAfter(hub, 990)).to.equal(991n);
  });

  it('does not wait for a slow watcher, however few the events are', async () => {
    const hub = new WatchHub(0n);
    const events = hub.watch(0n, () => [], call)[Symbol.asyncIterator]();
    hub.publish(event(1));
    expect((await events.next()).value).to.have.property('catalogVersion', 1n);
    for (let version = 2; version <= 1_000; version++) hub.publish(event(version, 1_000));
    const rest = async (): Promise<void> => {
      while ((await events.next()).done !== true);
    };
    const error = await rest().then(
      () => expect.fail(),
      (thrown: unknown) => thrown,
    );
    expect(error).to.have.property('code', 'resources_exhausted');
  });
});
