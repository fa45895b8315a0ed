import { expect } from 'chai';

import { TextWriter } from '#shared/bytes/text-writer';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

describe('TextWriter', () => {
  const out = new TextWriter();

  function written(write: () => void): string {
    write();
    return Buffer.from(out.take()).toString();
  }

  it('writes every 64-bit integer as BigInt does', () => {
    const random = new SeededRandom(1);
    const values = [0n, 1n, 9n, 10n, 999_999_999n, 1_000_000_000n, 1_000_000_001n, 2n ** 31n, 2n ** 32n, 2n ** 53n];
    for (let bits = 1n; bits <= 63n; bits++) {
      for (const near of [-2n, -1n, 0n, 1n]) values.push(2n ** bits + near, 10n ** (bits % 19n) * bits + near);
      for (let i = 0; i < 200; i++) {
        values.push(BigInt(Math.floor(random.fraction() * 2 ** 53)) >> (53n - (bits % 53n)));
      }
      for (let i = 0; i < 200; i++) {
        values.push(BigInt.asUintN(63, BigInt(Math.floor(random.fraction() * 2 ** 53)) * bits * 977n));
      }
    }
    for (let k = 1n; k < 9_000_000_000n; k = k * 3n + 1n) values.push(k * 1_000_000_000n, k * 1_000_000_000n - 1n);
    values.push(2n ** 64n - 1n, 10n ** 30n);
    for (const value of values) {
      for (const each of [value, -value]) {
        expect(written(() => out.bigint(each))).to.equal(each.toString());
      }
    }
  });

  it('writes every exact integer as a number does', () => {
    const random = new SeededRandom(2);
    const values = [0, 9, 10, 99, 100, 999_999_999, 1e9, 1e9 + 1, 1e18 / 1e3, 2 ** 31, Number.MAX_SAFE_INTEGER];
    for (let i = 0; i < 20_000; i++) values.push(Math.floor(random.fraction() * 10 ** (1 + (i % 15))));
    for (const value of values) {
      for (const each of [value, -value]) expect(written(() => out.whole(each))).to.equal(`${each}`);
    }
  });

  it('writes texts of any characters and lengths, and one after the other', () => {
    const texts = ['', 'a', 'ü', '😀', 'a\u0000b', '\ud800', 'x'.repeat(64), 'x'.repeat(65), `${'y'.repeat(63)}ü`];
    texts.push('ü'.repeat(100_000), 'z'.repeat(2_000_000));
    const all = written(() => {
      for (const text of texts) {
        out.text(text);
        out.byte(0x2c);
        out.whole(12);
        out.bytes(Buffer.from('€'));
      }
    });
    expect(all === Buffer.from(texts.map((text) => `${text},12€`).join('')).toString()).to.equal(true);
  });

  it('refuses a text that is too long, however it grows', () => {
    const small = new TextWriter(100_000);
    const thousand = 'x'.repeat(1000);
    for (let i = 0; i < 100; i++) small.text(thousand);
    expect(() => small.byte(0x2c)).to.throw(RangeError);
    expect(() => small.whole(1)).to.throw(RangeError);
    expect(() => small.text('ü')).to.throw(RangeError);
    expect(() => small.bytes(Buffer.from('a'))).to.throw(RangeError);
    expect(small.take().length).to.equal(100_000);
    small.text('ü'.repeat(50_000));
    expect(() => small.text('a')).to.throw(RangeError);
  });

  it('leaves what it returned alone', () => {
    const texts = ['a'.repeat(10), 'b'.repeat(3_000_000), 'c'.repeat(2_000_000), 'd'.repeat(10)];
    const taken = texts.map((text) => {
      out.text(text);
      return out.take();
    });
    expect(taken.every((bytes, i) => Buffer.from(bytes).toString() === texts[i])).to.equal(true);
  });
});
