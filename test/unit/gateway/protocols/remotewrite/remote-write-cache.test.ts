import { expect } from 'chai';

import type { KnownSeries } from '#services/gateway/protocols/common/metric-series';
import type { KnownSymbol } from '#services/gateway/protocols/remotewrite/remote-write-cache';
import { WireReader } from '#shared/protobuf/wire-reader';
import { field, RemoteWriteRig } from '#test/support/remote-write-rig';

function symbolOf({ cache }: RemoteWriteRig, bytes: Buffer): KnownSymbol {
  return cache.symbol(new WireReader(bytes), 0, bytes.length);
}

/** How many entries have the same hash. */
function chainLength(last: { readonly sameHash: unknown }): number {
  let length = 0;
  for (let at: unknown = last; at !== undefined; at = (at as typeof last).sameHash) length++;
  return length;
}

function label(name: string, value: Buffer): Buffer {
  return field(0x0a, Buffer.concat([field(0x0a, Buffer.from(name)), field(0x12, value)]));
}

describe('RemoteWriteCache', () => {
  let rig: RemoteWriteRig;

  beforeEach(() => {
    rig = new RemoteWriteRig();
  });

  it('finds texts again whose bytes are NaN as a number', () => {
    const bytes = Buffer.alloc(8, 0xff);
    const first = symbolOf(rig, bytes);
    for (let i = 0; i < 100; i++) expect(symbolOf(rig, Buffer.from(bytes))).to.equal(first);
    expect(symbolOf(rig, Buffer.from([0xfe, ...bytes.subarray(1)]))).to.not.equal(first);
  });

  it('finds series again whose labels have bytes that are NaN as a number', () => {
    // The length is written as F0 7F, which makes a double no number if it is at the end of the eight bytes.
    const text = Buffer.alloc(0x3ff0, 'x');
    for (const name of ['a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef', 'abcdefg', 'abcdefgh']) {
      const labels = Buffer.concat([label('__name__', Buffer.from('m')), label(name, text)]);
      const series = ofLabels(rig, labels);
      expect(ofLabels(rig, Buffer.from(labels))).to.equal(series);
    }
  });

  it('keeps few texts with one hash, whatever the texts are', () => {
    const pairs = 12;
    let longest = 0;
    for (const bit of [15, 16]) {
      for (let pattern = 0; pattern < 2 ** pairs; pattern++) {
        const bytes = Buffer.alloc(8 * pairs, 'a');
        for (let pair = 0; pair < pairs; pair++) {
          if ((pattern & (2 ** pair)) === 0) continue;
          // What the topmost bit of a word becomes, if a shift is all that follows it.
          bytes[8 * pair + 3] ^= 0x80;
          bytes[8 * pair + 4 + (bit >>> 3)] ^= 1 << (bit & 7);
          bytes[8 * pair + 7] ^= 0x80;
        }
        longest = Math.max(longest, chainLength(symbolOf(rig, bytes)));
      }
    }
    expect(longest).to.be.at.most(16);
  });

  it('does not keep series with texts that are too long', () => {
    const bytes = Buffer.alloc(70_000, 'x');
    const texts = [symbolOf(rig, Buffer.from('a')), symbolOf(rig, bytes)];
    const labels = Buffer.concat([label('__name__', Buffer.from('m')), label('a', bytes)]);
    const known = ofLabels(rig, labels);
    rig.cache.addBySymbols(texts, known);
    expect(rig.cache.findBySymbols(texts, texts.length)).to.equal(undefined);
  });
});

function ofLabels({ cache }: RemoteWriteRig, labels: Buffer): KnownSeries {
  const known = cache.series(new WireReader(labels), 0, labels.length, 'metrics');
  if (typeof known === 'string') expect.fail(known);
  return known;
}
