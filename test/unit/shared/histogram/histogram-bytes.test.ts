import { expect } from 'chai';
import fc from 'fast-check';

import { AlmanacError } from '#shared/errors/almanac-error';
import { decodeHistogram, encodeHistogram } from '#shared/histogram/histogram-bytes';
import type { NativeHistogram } from '#shared/histogram/native-histogram';

const SMALL: NativeHistogram = {
  isFloat: false,
  isStale: false,
  schema: 2,
  zeroThreshold: 0,
  sum: 1.5,
  resetHint: 2,
  startMs: 0,
  count: 130,
  zeroCount: 1,
  customValues: [],
  positiveSpans: [{ offset: -3, length: 2 }],
  negativeSpans: [],
  positiveBuckets: [1, 128],
  negativeBuckets: [],
};

const spans = fc.array(fc.record({ offset: fc.integer(), length: fc.nat(3) }), { maxLength: 4 });

describe('native histograms as bytes', () => {
  it('has a layout that never changes', () => {
    const bytes = Buffer.from(encodeHistogram(SMALL)).toString('hex');
    expect(bytes).to.equal('012002000000000000f83f8201010001050201800100');
    expect(decodeHistogram(Buffer.from(bytes, 'hex'))).to.deep.equal(SMALL);
  });

  it('returns the encoded histogram', () => {
    const some = fc.tuple(fc.boolean(), spans, spans, fc.double(), fc.double(), fc.maxSafeNat());
    fc.assert(
      fc.property(some, fc.integer({ min: -53, max: 8 }), ([isFloat, positive, negative, sum, zero, n], schema) => {
        const bucketsOf = (of: typeof positive): number[] =>
          of.flatMap(({ length }) => Array.from({ length }, (_, i) => (isFloat ? sum : Math.floor(n / (i + 1)))));
        const histogram: NativeHistogram = {
          ...SMALL,
          isFloat,
          schema,
          sum,
          // A threshold of -0 is one of 0.
          zeroThreshold: zero + 0,
          startMs: n - 1_000_000,
          count: isFloat ? zero : n,
          zeroCount: isFloat ? Number.NaN : 2 ** 62,
          customValues: [zero, sum],
          positiveSpans: positive,
          negativeSpans: negative,
          positiveBuckets: bucketsOf(positive),
          negativeBuckets: bucketsOf(negative),
        };
        expect(decodeHistogram(encodeHistogram(histogram))).to.deep.equal(histogram);
      }),
    );
  });

  it('keeps the marker of a series that ends', () => {
    const bytes = encodeHistogram({ ...SMALL, isStale: true });
    expect(Buffer.from(bytes).readBigUInt64LE(3)).to.equal(0x7ff0000000000002n);
    expect(decodeHistogram(bytes).isStale).to.equal(true);
  });

  it('refuses truncated or changed bytes with its own error', () => {
    const bytes = encodeHistogram(SMALL);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeHistogram(bytes.subarray(0, length))).to.throw(AlmanacError, 'native histogram is damaged');
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (tail) => {
        try {
          decodeHistogram(Buffer.concat([bytes.subarray(0, 11), tail]));
        } catch (error) {
          expect(error).to.be.instanceOf(AlmanacError);
        }
      }),
    );
  });
});
