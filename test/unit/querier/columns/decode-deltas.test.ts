import { expect } from 'chai';

import { UnknownLayout } from '#shared/parquet/compact-protocol';
import { decodeDeltas } from '#services/querier/columns/decode-deltas';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** A page, and the values of its integers. */
interface Encoded {
  readonly bytes: Uint8Array;
  readonly values: readonly bigint[];
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 127n) | 128);
  }
}

function zigzag(value: bigint): number[] {
  return varint(BigInt.asUintN(64, value >= 0n ? 2n * value : -2n * value - 1n));
}

/** Encodes integers whose differences are `least` and up to `width` bits more. */
function encode(
  random: SeededRandom,
  count: number,
  { width, least, miniblockValues }: { width: number; least: bigint; miniblockValues: number },
): Encoded {
  const miniblocks = 4;
  const bytes = [miniblocks * miniblockValues, miniblocks, count].flatMap((it) => varint(BigInt(it)));
  const first = BigInt(Math.floor(random.fraction() * 1000)) - 500n;
  bytes.push(...zigzag(first));
  const values = [first];
  while (values.length < count) {
    bytes.push(...zigzag(least), width, width, width, width);
    for (let i = 0; i < miniblocks && values.length < count; i++) {
      let bits = 0n;
      for (let j = 0; j < miniblockValues; j++) {
        const more = BigInt.asUintN(width, BigInt(Math.floor(random.fraction() * 2 ** 53)) * 977n);
        bits |= more << BigInt(j * width);
        if (values.length < count) values.push(values[values.length - 1] + least + more);
      }
      for (let j = 0; j < (miniblockValues * width) / 8; j++) bytes.push(Number((bits >> BigInt(8 * j)) & 255n));
    }
  }
  return { bytes: Uint8Array.from(bytes), values };
}

describe('decodeDeltas', () => {
  const random = new SeededRandom(3);

  it('decodes fields of every width to bytes, words and doubles', () => {
    for (let width = 0; width <= 57; width++) {
      for (const [count, miniblockValues] of [
        [1, 32],
        [2, 32],
        [33, 32],
        [400, 32],
        [1000, 64],
      ]) {
        const least = BigInt(Math.floor(random.fraction() * 9)) - 4n - (width > 0 ? 1n << BigInt(width - 1) : 0n);
        const { bytes, values } = encode(random, count, { width, least, miniblockValues });
        const base = values[0] - 100n;
        const [from, at] = [3, 5];
        const page = new Uint8Array([1, 2, 3, ...bytes]);
        const range = { from, to: page.length };
        const octets = new Uint8Array(at + count + 1).fill(77);
        decodeDeltas(page, range, base, { out: octets, at, count });
        const words = new Int32Array(at + count + 1).fill(77);
        decodeDeltas(page, range, base, { out: words, at, count });
        const doubles = new Float64Array(at + count + 1).fill(77);
        decodeDeltas(page, range, base, { out: doubles, at, count });
        for (const out of [octets, words, doubles]) {
          expect([...out.subarray(0, at), out[at + count]], 'beside the values').to.deep.equal([
            77, 77, 77, 77, 77, 77,
          ]);
        }
        const relative = values.map((value) => value - base);
        const title = `${count} of ${width} bits`;
        expect([...octets.subarray(at, -1)], title).to.deep.equal(relative.map((it) => Number(BigInt.asUintN(8, it))));
        expect([...words.subarray(at, -1)], title).to.deep.equal(relative.map((it) => Number(BigInt.asIntN(32, it))));
        if (relative.some((it) => it > 2n ** 53n || it < -(2n ** 53n))) continue;
        expect([...doubles.subarray(at, -1)], title).to.deep.equal(relative.map(Number));
      }
    }
  });

  it('decodes a large page, and a small one afterwards', () => {
    const large = encode(random, 300_000, { width: 0, least: 3n, miniblockValues: 256 });
    const doubles = new Float64Array(300_000);
    decodeDeltas(large.bytes, { from: 0, to: large.bytes.length }, 0n, { out: doubles, at: 0, count: 300_000 });
    expect(doubles[299_999]).to.equal(Number(large.values[299_999]));
    const small = encode(random, 40, { width: 5, least: -3n, miniblockValues: 32 });
    decodeDeltas(small.bytes, { from: 0, to: small.bytes.length }, 0n, { out: doubles, at: 0, count: 40 });
    expect([...doubles.subarray(0, 40)]).to.deep.equal(small.values.map(Number));
  });

  it('refuses damaged pages', () => {
    const count = 100;
    const { bytes } = encode(random, count, { width: 7, least: -60n, miniblockValues: 32 });
    const out = new Uint8Array(count);
    const decode = (page: Uint8Array, to = page.length, values = count): void => {
      decodeDeltas(page, { from: 0, to }, 0n, { out, at: 0, count: values });
    };
    decode(bytes);
    for (let to = 0; to < bytes.length; to++) expect(() => decode(bytes, to), `${to} bytes`).to.throw(UnknownLayout);
    expect(() => decode(bytes, bytes.length, count + 1), 'more values').to.throw(UnknownLayout);
    const headers: readonly (readonly [string, readonly number[]])[] = [
      ['no miniblocks', [...varint(128n), 0, count, 0]],
      ['no values in a block', [0, 4, count, 0]],
      ['blocks that miniblocks do not divide', [...varint(130n), 4, count, 0]],
      ['miniblocks of 16 values', [64, 4, count, 0]],
      ['blocks that are too large', [...varint(131_072n), 4, count, 0]],
      ['a length of more than 31 bits', [...varint(2n ** 31n), 4, count, 0]],
      ['a varint without an end', new Array<number>(20).fill(255)],
      ['fields of 58 bits', [...varint(128n), 4, count, 0, 0, 58, 58, 58, 58, ...new Array<number>(2000).fill(0)]],
      ['fields of 255 bits', [...varint(128n), 4, count, 0, 0, 255, 255, 255, 255, ...new Array<number>(9000).fill(0)]],
    ];
    for (const [title, header] of headers) expect(() => decode(Uint8Array.from(header)), title).to.throw(UnknownLayout);
    for (let i = 0; i < 20_000; i++) {
      const damaged = bytes.slice();
      for (let j = 0; j < 3; j++) damaged[Math.floor(random.fraction() * damaged.length)] = random.fraction() * 256;
      try {
        decode(damaged);
      } catch (error) {
        expect(error).to.be.instanceOf(UnknownLayout);
      }
    }
    decode(bytes);
  });
});
