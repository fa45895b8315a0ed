import { expect } from 'chai';

import { parseByteSize, printByteSize } from '#shared/time/byte-size';

const MIB = 1024 * 1024;

describe('byte size', () => {
  it('reads binary units in all spellings, fractions and bare counts', () => {
    expect(parseByteSize('64MiB')).to.equal(64 * MIB);
    expect(parseByteSize('64MB')).to.equal(64 * MIB);
    expect(parseByteSize('64 mb')).to.equal(64 * MIB);
    expect(parseByteSize('1.5KiB')).to.equal(1536);
    expect(parseByteSize('4096')).to.equal(4096);
    expect(parseByteSize('7B')).to.equal(7);
    expect(parseByteSize('1PiB')).to.equal(2 ** 50);
  });

  it('refuses invalid sizes', () => {
    expect(() => parseByteSize('many')).to.throw('expected a number and a unit');
    expect(() => parseByteSize('-1KiB')).to.throw('expected a number and a unit');
    expect(() => parseByteSize('1XB')).to.throw('unknown unit "XB"');
    expect(() => parseByteSize('8PiB')).to.throw('larger than');
  });

  it('prints the largest exact unit', () => {
    expect(printByteSize(64 * MIB)).to.equal('64MiB');
    expect(printByteSize(1536)).to.equal('1536B');
    expect(printByteSize(1024)).to.equal('1KiB');
    expect(printByteSize(0)).to.equal('0KiB');
  });
});
