import { expect } from 'chai';
import fc from 'fast-check';

import { hash64 } from '#shared/bytes/hash64';
import { seriesId, seriesIdAt, TagNames, type Tag } from '#shared/rowbatch/series-key';

function tags(pairs: Readonly<Record<string, string>>): Tag[] {
  return Object.entries(pairs).map(([name, value]) => ({ name, value: Buffer.from(value) }));
}

/** Computes the ID of tags of type String as the format says. */
function idOf(pairs: readonly (readonly [name: string, value: string])[]): bigint {
  const varint = (length: number): number[] =>
    length < 128 ? [length] : [(length & 127) | 128, ...varint(length >> 7)];
  const withLength = (text: Buffer): Buffer => Buffer.concat([Buffer.from(varint(text.length)), text]);
  const tagParts = pairs
    .map(([name, value]) => [Buffer.from(name), Buffer.from(value)])
    .sort(([a], [b]) => Buffer.compare(a, b))
    .flatMap(([name, value]) => [withLength(name), Buffer.from([1]), withLength(value)]);
  const bytes = Buffer.concat(tagParts);
  const halves = new Uint32Array(2);
  hash64(bytes, 0, bytes.length, halves);
  return (BigInt(halves[1]) << 32n) | BigInt(halves[0]);
}

/** These values are in every data folder: none of them may ever change. */
describe('series IDs, whose values never change', () => {
  function is(expected: bigint, pairs: Readonly<Record<string, string>>, type?: string): void {
    const id = type === undefined ? seriesId(tags(pairs)) : seriesId(tags(pairs), () => type);
    expect(id.toString(16)).to.equal(expected.toString(16));
  }

  it('of tag sets', () => {
    is(0xbeded0151ee48446n, {});
    is(0x5f33b21240731e43n, { host: 'a' });
    is(0x35b5e4fb47adbf81n, { host: '' });
    is(0xca8ff34c4f3a3eb2n, { host: 'host_0', region: 'eu-central-1' });
    is(0x76c8b136c399a241n, { é: 'ü', 日本: 'x' });
    is(0x9cc973863bee59aen, { n: 'x'.repeat(300) });
  });

  it('of tags with other types than String', () => {
    is(0xb0b9249b4bdc75cdn, { port: '80' });
    is(0xb0b9249b4bdc75cdn, { port: '80' }, 'String');
    is(0xa1b2d4ff82caa20fn, { port: '80' }, 'Int32');
    is(0xa1b2d4ff82caa20fn, { port: '80' }, 'UInt64');
    is(0x6bad0757bff5d260n, { port: '80' }, 'Decimal(10, 2)');
  });

  it('of plain bytes', () => {
    const hashes = (text: string, high: number, low: number): void => {
      const out = new Uint32Array(2);
      const bytes = Buffer.from(`#${text}#`);
      hash64(bytes, 1, bytes.length - 1, out);
      expect([...out], text).to.deep.equal([low, high]);
    };
    hashes('', 0xbeded015, 0x1ee48446);
    hashes('a', 0x8ad75f9e, 0x1bd04097);
    hashes('ab', 0x5053609b, 0x86bf1db0);
    hashes('abc', 0xa02e889b, 0xb37b120a);
    hashes('abcd', 0x88e722c9, 0x408e54a3);
    hashes('abcde', 0x8a5a6be2, 0xf22759f5);
    hashes('almanac', 0x8d42bb3d, 0x582b2908);
  });
});

describe('seriesId', () => {
  it('does not depend on the order of tags', () => {
    const pairs = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.string()), { selector: ([name]) => name });
    fc.assert(
      fc.property(pairs, (list) => {
        const set: Tag[] = list.map(([name, value]) => ({ name, value: Buffer.from(value) }));
        expect(seriesId([...set].reverse())).to.equal(seriesId(set));
      }),
    );
  });

  it('hashes the bytes that are described, whatever the tag sets before', () => {
    const name = fc.constantFrom('a', 'b', 'host', 'é', 'z'.repeat(40), '\u{1f600}', '\uffff');
    const value = fc.oneof(fc.string(), fc.constantFrom('x'.repeat(33), 'y'.repeat(20_000)));
    const set = fc.uniqueArray(fc.tuple(name, value), { selector: ([it]) => it });
    fc.assert(
      fc.property(fc.array(set, { maxLength: 6 }), (sets) => {
        for (const pairs of sets) {
          const list: Tag[] = pairs.map(([it, text]) => ({ name: it, value: Buffer.from(text) }));
          expect(seriesId(list)).to.equal(idOf(pairs));
          const source = Buffer.from(pairs.map(([, text]) => text).join(''));
          const ranges: number[] = [];
          for (const { value: bytes } of list) ranges.push(ranges.at(-1) ?? 0, (ranges.at(-1) ?? 0) + bytes.length);
          expect(seriesIdAt(new TagNames(list.map((it) => it.name)), source, ranges)).to.equal(idOf(pairs));
        }
      }),
    );
  });

  it('hashes the same with more sets of names than are kept', () => {
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 10_000; i++) {
        const pairs = [
          ['host', 'a'],
          [`n${i}`, 'b'],
          [`m${i % 700}`, 'c'],
        ] as const;
        expect(seriesId(pairs.map(([name, value]) => ({ name, value: Buffer.from(value) })))).to.equal(idOf(pairs));
      }
    }
  });

  it('distinguishes where names and values end', () => {
    const ids = [{ a: 'bc' }, { ab: 'c' }, { a: 'b', c: '' }, { a: '', bc: '' }].map((set) => seriesId(tags(set)));
    expect(new Set(ids).size).to.equal(4);
  });
});
