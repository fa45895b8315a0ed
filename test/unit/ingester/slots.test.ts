import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { claimSlot, claimSlotOf, type Slot } from '#services/ingester/slots';
import { systemRandom } from '#shared/clock/random';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { failure } from '#test/support/failure';
import { tempFolder } from '#test/support/temp-folder';

describe('slots of a data folder', () => {
  const cleanUps: (() => void)[] = [];
  const held: Slot[] = [];
  let dataFolder = '';

  beforeEach(() => (dataFolder = tempFolder((cleanUp) => cleanUps.push(cleanUp))));
  afterEach(() => {
    for (const slot of held.splice(0)) slot.release();
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  async function claim(): Promise<Slot> {
    const slot = await claimSlot({ dataFolder, fs: nodeFileSystem, random: systemRandom });
    held.push(slot);
    return slot;
  }

  const claimOf = (identity: string): Promise<Slot | undefined> =>
    claimSlotOf(identity, { dataFolder, fs: nodeFileSystem, random: systemRandom });

  it('are claimed in order, and the first free one again with its identity', async () => {
    const slots = [await claim(), await claim(), await claim()];
    expect(slots.map(({ number }) => number)).to.deep.equal([0, 1, 2]);
    expect(new Set(slots.map(({ identity }) => identity)).size).to.equal(3);
    slots[1].release();
    const again = await claim();
    expect(again.number).to.equal(1);
    expect(again.identity).to.equal(slots[1].identity);
    expect(again.walFolder).to.equal(join(dataFolder, 'slots/1/wal'));
  });

  it('are adopted by identity, but only while no process holds them', async () => {
    const slot = await claim();
    expect(await claimOf(slot.identity)).to.equal(undefined);
    slot.release();
    const adopted = await claimOf(slot.identity);
    expect(adopted?.number).to.equal(0);
    if (adopted !== undefined) held.push(adopted);
    expect(await claimOf('of another folder')).to.equal(undefined);
  });

  it('survive a crash while the identity is written', async () => {
    mkdirSync(join(dataFolder, 'slots/0'), { recursive: true });
    writeFileSync(join(dataFolder, 'slots/0/slot.json.new'), '{"ident');
    const slot = await claim();
    const text = readFileSync(join(dataFolder, 'slots/0/slot.json'), 'utf8');
    expect(JSON.parse(text)).to.deep.equal({ identity: slot.identity });
  });

  it('in a folder that cannot be written are an error that names it', async () => {
    const readOnly = {
      ...nodeFileSystem,
      makeFolder: () => Promise.reject(Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' })),
    };
    const error = await failure(claimSlot({ dataFolder, fs: readOnly, random: systemRandom }));
    expect(error.code).to.equal('storage_unavailable');
    expect(error.message).to.contain(`"${dataFolder}/slots/0" cannot be made: EROFS`);
  });

  it('refuse a file that contains no identity', async () => {
    mkdirSync(join(dataFolder, 'slots/0'), { recursive: true });
    for (const text of ['{}', '{"ident', 'null', '{"identity":""}']) {
      writeFileSync(join(dataFolder, 'slots/0/slot.json'), text);
      const error = await failure(claim());
      expect(error.code, text).to.equal('storage_unavailable');
      expect(error.message).to.contain('slots/0/slot.json');
    }
  });
});
