import { expect } from 'chai';
import fc from 'fast-check';

import { FLOAT_NUMBER, NO_NUMBER, NumberScanner, SIGNED, UNSIGNED } from '#shared/bytes/parse-number';

function scan(text: string): { kind: number; value: number; end: number; isExact: boolean } {
  const scanner = new NumberScanner();
  const bytes = Buffer.from(`x${text}`);
  const kind = scanner.scan(bytes, 1, bytes.length);
  return { kind, value: scanner.value, end: scanner.end - 1, isExact: scanner.isExact };
}

describe('NumberScanner', () => {
  it('reads every double as Number does', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const result = scan(String(value));
        expect(result.kind).to.equal(FLOAT_NUMBER);
        expect(result.value).to.equal(value);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999 }), fc.integer({ min: 0, max: 9 }), (digits, places) => {
        const text = `${digits}.${'0'.repeat(places)}${digits}`;
        expect(scan(text).value).to.equal(Number(text));
      }),
    );
  });

  it('recognises integers by their suffix', () => {
    expect(scan('12i')).to.deep.equal({ kind: SIGNED, value: 12, end: 3, isExact: true });
    expect(scan('-12i,')).to.deep.equal({ kind: SIGNED, value: -12, end: 4, isExact: true });
    expect(scan('12u')).to.deep.equal({ kind: UNSIGNED, value: 12, end: 3, isExact: true });
    expect(scan('999999999999999i').isExact).to.equal(true);
    expect(scan('1000000000000000i').isExact).to.equal(false);
    expect(scan('-12u').kind).to.equal(NO_NUMBER);
  });

  it('stops at the first byte that does not belong to the number', () => {
    expect(scan('1.5.2')).to.include({ value: 1.5, end: 3 });
    expect(scan('1e3e4')).to.include({ value: 1_000, end: 3 });
    expect(scan('7 8')).to.include({ value: 7, end: 1 });
  });

  it('refuses what has no digits where it needs them', () => {
    for (const text of ['', '-', '.', '-.', 'i', '.i', '1e', '1e+', 'e5']) {
      expect(scan(text).kind, text).to.equal(NO_NUMBER);
    }
  });
});
