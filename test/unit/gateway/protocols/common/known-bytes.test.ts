import { expect } from 'chai';
import fc from 'fast-check';

import { ByteStore, KnownBytes } from '#services/gateway/protocols/common/known-bytes';

/** Returns whether `bytes` are found in a body at `at`, with other bytes before and after them. */
function isEqualAt(known: KnownBytes, bytes: Uint8Array, at: number): boolean {
  const body = Buffer.alloc(at + bytes.length + 7, 0xaa);
  body.set(bytes, at);
  return known.equals(new DataView(body.buffer, body.byteOffset, body.length), at);
}

function knownOf(bytes: Uint8Array): KnownBytes {
  const store = new ByteStore();
  // So that it does not begin where memory is aligned.
  store.add(Buffer.from('abc'), 0, 3);
  const { view, from, length } = store.add(Buffer.from(bytes), 0, bytes.length);
  return new KnownBytes(view, from, length);
}

describe('KnownBytes', () => {
  const bytes = fc.uint8Array({ maxLength: 140 });

  it('equals the same bytes, wherever they are', () => {
    fc.assert(
      fc.property(bytes, fc.nat(20), (value, at) => {
        expect(isEqualAt(knownOf(value), value, at)).to.equal(true);
      }),
    );
  });

  it('differs from bytes of which a single bit differs', () => {
    for (let length = 1; length <= 100; length++) {
      const value = new Uint8Array(length).fill(length);
      const known = knownOf(value);
      for (let bit = 0; bit < 8 * length; bit++) {
        const other = value.slice();
        other[bit >> 3] ^= 1 << (bit & 7);
        expect(isEqualAt(known, other, bit % 9), `bit ${bit} of ${length} bytes`).to.equal(false);
      }
    }
  });

  it('distinguishes zeros of both signs and numbers that equal nothing', () => {
    const negativeZeros = Buffer.from(new Float64Array(5).fill(-0).buffer);
    expect(isEqualAt(knownOf(new Uint8Array(40)), negativeZeros, 1)).to.equal(false);
    const nans = Buffer.alloc(40, 0xff);
    expect(isEqualAt(knownOf(nans), nans, 1)).to.equal(true);
  });
});
