import { expect } from 'chai';
import fc from 'fast-check';

import { AlmanacError } from '#shared/errors/almanac-error';
import { decodeDefinitions, decodeTags, encodeDefinitions, encodeTags } from '#shared/rowbatch/definitions';

describe('definitions', () => {
  it('have the bytes of the format', () => {
    const tags = encodeTags([
      { columnId: 1, value: Buffer.from('ab') },
      { columnId: 300, value: new Uint8Array(0) },
    ]);
    expect(Buffer.from(tags).toString('hex')).to.equal('01026162' + 'ac0200');
    const bytes = encodeDefinitions([{ tsid: 0x0807060504030201n, tags }]);
    expect(Buffer.from(bytes).toString('hex')).to.equal(
      '01000000' + '0f000000' + '0102030405060708' + '01026162ac0200',
    );
    expect(Buffer.from(encodeDefinitions([])).toString('hex')).to.equal('00000000');
    expect(decodeDefinitions(new Uint8Array(0))).to.deep.equal([]);
  });

  it('are decoded as they were encoded', () => {
    const tag = fc.record({ columnId: fc.integer({ min: 1, max: 2 ** 31 }), value: fc.uint8Array({ maxLength: 300 }) });
    const definition = fc.record({ tsid: fc.bigInt(0n, (1n << 64n) - 1n), tags: fc.array(tag, { maxLength: 5 }) });
    fc.assert(
      fc.property(fc.array(definition, { maxLength: 5 }), (list) => {
        const bytes = encodeDefinitions(list.map(({ tsid, tags }) => ({ tsid, tags: encodeTags(tags) })));
        const read = decodeDefinitions(bytes).map(({ tsid, tags }) => ({ tsid, tags: decodeTags(tags) }));
        expect(read).to.deep.equal(list);
      }),
    );
  });

  it('are refused when truncated', () => {
    const bytes = encodeDefinitions([{ tsid: 1n, tags: encodeTags([{ columnId: 1, value: Buffer.from('ab') }]) }]);
    for (let length = 1; length < bytes.length; length++) {
      expect(() => decodeDefinitions(bytes.subarray(0, length)), `${length} bytes`).to.throw(AlmanacError);
    }
    expect(() => decodeTags(new Uint8Array([1, 5, 97]))).to.throw(AlmanacError);
  });
});
