import { expect } from 'chai';
import fc from 'fast-check';

import { LineDecoder } from '#services/gateway/protocols/lineproto/decode';
import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { LineCache, type KnownKey } from '#services/gateway/protocols/lineproto/line-cache';
import { DatabaseCaches } from '#services/gateway/protocols/common/cache-memory';
import { hash32 } from '#shared/bytes/hash64';
import { BatchSet } from '#shared/rowbatch/builder';
import { seriesId } from '#shared/rowbatch/series-key';

function decode(text: string, cache: LineCache): BatchSet {
  const batches = new BatchSet();
  const decoder = new LineDecoder(Buffer.from(text), { precision: 'ns', nowNs: 0n }, cache, batches);
  while (!decoder.decode(100)) continue;
  return batches;
}

function chainLength(cache: LineCache): number {
  const seen = new Set<KnownKey>();
  for (let key = cache.guess; key !== undefined && !seen.has(key); key = key.next) seen.add(key);
  return seen.size;
}

describe('LineCache', () => {
  it('returns the same series for the same key, with its tags', () => {
    const cache = new LineCache(new CacheMemory(100_000));
    const [first] = decode('m,a=1,b=x\\ y f=1 1\n', cache).table('m').series;
    const [again] = decode('m,a=1,b=x\\ y f=2 2\n', cache).table('m').series;
    expect(again).to.equal(first);
    expect(again.tags.map(({ name, value }) => [name, Buffer.from(value).toString()])).to.deep.equal([
      ['a', '1'],
      ['b', 'x y'],
    ]);
  });

  it('computes names and ID of each series, whatever the keys before', () => {
    const part = fc.constantFrom('a', 'b', 'c', 'host', 'a\\ b', 'a\\,b', 'é', 'x'.repeat(80));
    const tags = fc.uniqueArray(fc.tuple(part, part), { selector: ([name]) => name, maxLength: 4 });
    const key = fc.tuple(fc.constantFrom('m', 'cpu', 'c\\ d'), tags);
    fc.assert(
      fc.property(fc.array(key, { maxLength: 12 }), (keys) => {
        const lines = keys.map(([name, pairs]) => [name, ...pairs.map((it) => it.join('='))].join(','));
        const batches = decode(
          lines.map((line) => `${line} f=1 1\n`).join(''),
          new LineCache(new CacheMemory(100_000)),
        );
        const series = [...batches.tables.values()].flatMap((table) => table.series);
        expect(series).to.have.length(new Set(lines).size);
        for (const one of series) {
          expect(one.tsid).to.equal(seriesId(one.tags));
          if (one.names !== undefined) expect(one.names).to.deep.equal(one.tags.map(({ name }) => name));
          const written = [one.table, ...one.tags.map(({ name, value }) => `${name}=${Buffer.from(value).toString()}`)];
          expect(lines.map((line) => line.replaceAll('\\', ''))).to.include(written.join(','));
        }
      }),
    );
  });

  it('stays within its memory limit', () => {
    const memory = new CacheMemory(50_000);
    const cache = new LineCache(memory);
    let most = 0;
    for (let i = 0; i < 5_000; i++) {
      decode(`m,host=h${i} f${i % 100}=1 1\n`, cache);
      most = Math.max(most, memory.usedBytes);
    }
    expect(most).to.be.greaterThan(25_000);
    expect(most).to.be.lessThan(51_000);
    expect(cache.epoch).to.be.greaterThan(10);
  });

  it('keeps no key alive by a guess after it was cleared', () => {
    const cache = new LineCache(new CacheMemory(20_000));
    const lines = Array.from({ length: 500 }, (_, i) => `m,host=h${i} f=1 1\n`).join('');
    for (let round = 0; round < 3; round++) decode(lines, cache);
    expect(chainLength(cache)).to.be.lessThan(70);
  });

  it('guesses no key that it does not contain', () => {
    const cache = new LineCache(new CacheMemory(100_000));
    for (let round = 0; round < 3; round++) {
      const long = Array.from({ length: 20 }, (_, i) => `m,host=${'x'.repeat(20_000)}${i} f=1 1\n`).join('');
      decode(`m,host=a f=1 1\n${long}m,host=b f=1 1\nm,host=a f=1 1\n`, cache);
    }
    expect(chainLength(cache)).to.equal(2);
  });

  it('compares a key with few others, even if a client forges hashes', () => {
    let keys = ['m,h='];
    for (const pair of ['nopylm5d 5332ju33', '2h2e4bal osrtsldk', '5x0lyucm ppptmws2', 'ym5u1ztg nsotvz4p']) {
      keys = keys.flatMap((key) => pair.split(' ').map((block) => key + block));
    }
    const hashes = keys.map((key) => hash32(Buffer.from(key), 0, key.length));
    expect(new Set(hashes).size, 'they were made for one hash').to.equal(1);
    const text = keys.map((key) => `${key} f=1 1\n`).join('');
    const cache = new LineCache(new CacheMemory(100_000));
    for (let round = 0; round < 2; round++) {
      const { rowCount, series } = decode(text, cache).table('m');
      expect(rowCount).to.equal(16);
      expect(series.map(({ tags }) => `m,h=${Buffer.from(tags[0].value).toString()}`)).to.deep.equal(keys);
    }
    const kept = keys.filter((key) => {
      const bytes = Buffer.from(key);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      return cache.find(view, 0, bytes.length, hashes[0]) !== undefined;
    });
    expect(kept).to.deep.equal(keys.slice(0, 8));
  });

  describe('the guess of the next key', () => {
    const body = (hosts: string): string => Array.from(hosts, (host) => `m,host=${host} f=1 1\n`).join('');

    /** The order that is expected from the first key on. */
    function learned(...bodies: readonly string[]): string {
      const cache = new LineCache(new CacheMemory(100_000));
      for (const hosts of bodies) decode(body(hosts), cache);
      let hosts = '';
      for (let key = cache.guess; key !== undefined && hosts.length < 12; key = key.next) {
        hosts += Buffer.from(key.entry.tags[0].value).toString();
      }
      return hosts;
    }

    it('follows the previous order of keys', () => {
      expect(learned('abcdef'.repeat(3), 'abc')).to.equal('defabcdefabc');
    });

    it('stays the same when keys are inserted or omitted', () => {
      expect(learned('abcdef'.repeat(3), 'abecdebfabacddecf'.repeat(3))).to.equal('abcdefabcdef');
      expect(learned('abcdef'.repeat(3), 'acdfbcdeabdef'.repeat(3))).to.equal('abcdefabcdef');
    });

    it('follows an order that has changed', () => {
      expect(learned('abcdefghijkl'.repeat(3), 'lkjihgfedcba'.repeat(4))).to.equal('lkjihgfedcba');
      expect(learned('abcdef'.repeat(3), 'abxyef'.repeat(3))).to.equal('abxyefabxyef');
    });
  });

  it('is separate for each database, within one memory limit', () => {
    const caches = new DatabaseCaches(new CacheMemory(30_000), (memory) => new LineCache(memory));
    const first = caches.of('a');
    expect(caches.of('a')).to.equal(first);
    expect(caches.of('b')).not.to.equal(first);
    decode('m,host=h f=1 1\n', first);
    for (let i = 0; i < 200; i++) decode(`m,host=h${i} f=1 1\n`, caches.of('b'));
    expect(first.epoch).to.be.greaterThan(0);
  });
});
