import { gzipSync } from 'node:zlib';

import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { decodePprof } from '#shared/profiling/pprof';

describe('decodePprof', () => {
  const refusal = (bytes: Uint8Array): string => {
    try {
      decodePprof(bytes);
      return 'decoded';
    } catch (error) {
      return AlmanacError.from(error).message;
    }
  };

  it('refuses a small file that is large uncompressed, before its objects take memory', () => {
    // Empty samples, which would take many times as much memory.
    const samples = Buffer.alloc(65 * 1024 * 1024, Buffer.from([0x12, 0x00]));
    expect(refusal(gzipSync(samples, { level: 1 }))).to.equal('the profile has more than 64 MiB uncompressed');
    expect(refusal(gzipSync(Buffer.from('no profile')))).to.equal('not a profile in the format of pprof');
  });
});
