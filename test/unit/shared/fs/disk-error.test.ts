import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { diskError, isDiskFull } from '#shared/fs/disk-error';
import { ShortWrite } from '#shared/fs/node-file';

function nodeError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

describe('diskError', () => {
  function tells(error: unknown, text: string): void {
    const told = diskError(error, 'rows cannot be kept');
    expect(told).to.be.instanceOf(AlmanacError);
    const { code, message, cause } = told as AlmanacError;
    expect(code).to.equal('storage_unavailable');
    expect(message).to.equal(`rows cannot be kept: ${text}`);
    expect(cause).to.equal(error);
  }

  it('returns the reason of the disk, without paths', () => {
    tells(nodeError('ENOSPC', 'ENOSPC: no space left on device, write'), 'no space left on device');
    tells(nodeError('EACCES', "EACCES: permission denied, open '/var/lib/x'"), 'permission denied');
    tells(nodeError('EIO', 'without more'), 'EIO');
  });

  it("returns the reason of the engine's files", () => {
    const text = 'IO Error: Could not write file "/var/lib/x.parquet": No space left on device';
    tells(new Error(text), 'No space left on device');
    tells(new Error('IO Error: the disk is gone'), 'the disk is gone');
  });

  it('leaves everything else unchanged', () => {
    const known = new AlmanacError('region_busy', 'later');
    for (const error of [known, new Error('a bug'), nodeError('ENOENT', 'ENOENT: no such file, open'), 'text']) {
      expect(diskError(error, 'x')).to.equal(error);
    }
  });
});

describe('isDiskFull', () => {
  it('is true for lack of space, a read-only disk and a short write', () => {
    for (const code of ['ENOSPC', 'EDQUOT', 'EROFS']) expect(isDiskFull(nodeError(code, code))).to.equal(true);
    expect(isDiskFull(new ShortWrite(1, 2))).to.equal(true);
    expect(isDiskFull(nodeError('EIO', 'EIO'))).to.equal(false);
    expect(isDiskFull(undefined)).to.equal(false);
  });
});
