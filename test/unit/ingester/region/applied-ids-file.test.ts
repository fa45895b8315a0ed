import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { AppliedIds } from '#services/ingester/region/applied-ids';
import { AppliedIdsFile } from '#services/ingester/region/applied-ids-file';
import type { Region } from '#services/ingester/region/region';
import { systemClock } from '#shared/clock/clock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { tempFolder } from '#test/support/temp-folder';

describe('AppliedIdsFile', () => {
  let cleanUp: () => void = () => undefined;
  let folder = '';
  beforeEach(() => (folder = tempFolder((after) => (cleanUp = after))));
  afterEach(() => cleanUp());

  function batchId(counter: number): Uint8Array {
    const id = new Uint8Array(16);
    new DataView(id.buffer).setBigUint64(8, BigInt(counter), true);
    return id;
  }

  function opened(regionId: number): Region {
    const applied = new AppliedIds({ clock: systemClock, windowMs: 0, onEarlyDiscard: () => undefined });
    return { regionId, epoch: 1, applied } as Region;
  }

  function savedRegions(): string[] {
    const text = readFileSync(join(folder, 'applied.json'), 'utf8');
    return Object.keys((JSON.parse(text) as { regions: object }).regions);
  }

  it('adds its ids to a region that is opened, and keeps none of them afterwards', async () => {
    const kept = new AppliedIdsFile(folder, nodeFileSystem);
    for (const regionId of [1, 2]) kept.addLogged({ regionId, epoch: 1, batchId: batchId(7) });
    await kept.save([]);
    expect(savedRegions()).to.deep.equal(['1', '2']);
    const next = new AppliedIdsFile(folder, nodeFileSystem);
    await next.load([1, 2]);
    next.addLogged({ regionId: 1, epoch: 1, batchId: batchId(8) });
    const region = opened(1);
    next.restoreInto(region);
    expect([7, 8, 9].map((counter) => region.applied.state(batchId(counter)))).to.deep.equal([
      'applied',
      'applied',
      'new',
    ]);
    await next.save([region]);
    expect(savedRegions()).to.have.members(['1', '2']);
    // The region was handed over.
    await next.save([]);
    expect(savedRegions()).to.deep.equal(['2']);
  });
});
