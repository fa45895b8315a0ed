import { constants, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { errorCode, nodeFileSystem } from '#shared/fs/node-file-system';

/** Returns the target of a link, which may be gone. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Returns the flags of an open file. */
function flagsOf(path: string): number {
  const number = readdirSync('/proc/self/fd').find((fd) => linkOf(`/proc/self/fd/${fd}`) === path);
  const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, 'utf8'))?.[1] ?? '';
  return parseInt(flags, 8);
}

describe('a file of the disk', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-file-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('appends parts in order and syncs them', async () => {
    const file = await nodeFileSystem.open(join(folder, 'log'), 'append');
    await file.append([Buffer.from('one '), Buffer.from('two ')]);
    await file.syncData();
    await file.append([Buffer.from('three')]);
    await file.close();
    expect(readFileSync(join(folder, 'log'), 'utf8')).to.equal('one two three');
  });

  it('writes to a log so that each write is durable', async () => {
    const path = join(folder, 'log');
    const file = await nodeFileSystem.open(path, 'log');
    // Other systems have no such flag, and each write is synced by another call.
    if (process.platform === 'linux') expect(flagsOf(path) & constants.O_DSYNC).to.equal(constants.O_DSYNC);
    await file.append([Buffer.from('one '), Buffer.from('two')]);
    await file.append([Buffer.from(' three')]);
    await file.close();
    expect(readFileSync(path, 'utf8')).to.equal('one two three');
  });

  it('closes after the appends and syncs that were started before', async () => {
    const file = await nodeFileSystem.open(join(folder, 'log'), 'append');
    const part = Buffer.alloc(4 << 20, 'x');
    const order: string[] = [];
    const calls = [file.append([part]), file.syncData()].map((call) => call.then(() => order.push('call')));
    const closed = file.close().then(() => order.push('closed'));
    await Promise.all([...calls, closed]);
    expect(order).to.deep.equal(['call', 'call', 'closed']);
    expect(readFileSync(join(folder, 'log')).length).to.equal(part.length);
  });

  it('fails for a file that is closed, or opened for reading', async () => {
    const path = join(folder, 'log');
    const file = await nodeFileSystem.open(path, 'append');
    await file.close();
    for (const call of [file.append([Buffer.from('x')]), file.syncData()]) {
      expect(
        await call.then(
          () => 'done',
          () => 'failed',
        ),
      ).to.equal('failed');
    }
    const read = await nodeFileSystem.open(path, 'read');
    expect(await read.append([Buffer.from('x')]).catch(errorCode)).to.equal('EBADF');
    await read.close();
  });
});
