import { expect } from 'chai';

import { LineDecoder, type LineDecodeOptions } from '#services/gateway/protocols/lineproto/decode';
import type { RejectedRows } from '#services/gateway/protocols/common/rejected-rows';
import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { LineCache } from '#services/gateway/protocols/lineproto/line-cache';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import { BuilderPool } from '#shared/rowbatch/builder-pool';
import { conflictingRows } from '#shared/write/writer-types';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { rowsOf, type PlainRow } from '#test/support/batch-rows';

const NOW_NS = 1_700_000_000_123_456_789n;

interface Decoded {
  readonly rows: readonly PlainRow[];
  readonly rejected: RejectedRows;
}

function decode(text: string | Buffer, options: Partial<LineDecodeOptions> = {}, cache = newCache()): Decoded {
  const batches = new BatchSet(new BuilderPool(1_000_000));
  const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text);
  const decoder = new LineDecoder(bytes, { precision: 'ns', nowNs: NOW_NS, ...options }, cache, batches);
  while (!decoder.decode(1_000)) continue;
  return { rows: rowsOf(batches), rejected: decoder.rejected };
}

function newCache(): LineCache {
  return new LineCache(new CacheMemory(1_000_000));
}

/** The only row, read twice: the second time its key and fields are known. */
function onlyRow(line: string): PlainRow {
  const cache = newCache();
  decode(`${line}\n`, {}, cache);
  const { rows, rejected } = decode(`${line}\n`, {}, cache);
  expect(rejected.texts).to.deep.equal([]);
  expect(rows).to.have.length(1);
  return rows[0];
}

function field(line: string): unknown {
  return onlyRow(line).fields['f'];
}

/** Also after a valid line of the same series, so that both readers see it. */
function rejects(line: string, reason: string): void {
  for (const text of [line, `${line}\n`, `m f=1 1\n${line}\n`]) {
    const { rejected } = decode(text);
    expect(rejected.texts, JSON.stringify(text)).to.deep.equal([`unable to parse '${line}': ${reason}`]);
  }
}

function failure(run: () => unknown): AlmanacError {
  try {
    run();
  } catch (error) {
    return AlmanacError.from(error);
  }
  throw new AlmanacError('internal', 'nothing was thrown');
}

describe('LineDecoder', () => {
  it('reads known series in any order, with few and with many times', () => {
    const random = new SeededRandom(4);
    const keys = Array.from({ length: 40 }, (_, i) => `m${i % 3},host=${'h'.repeat(i % 7)}${i},a\\ b=é\\ ${i}`);
    keys.push('m', 'm,host=h', 'm,host=hh', 'm\\ x,host=h');
    const cache = newCache();
    for (let round = 0; round < 30; round++) {
      const times = Array.from({ length: 1 + (round % 8) }, () => `${random.below(3) - 1}${random.below(1e9)}`);
      const order = Array.from(
        { length: 60 },
        (_, i) => keys[random.below(5) > 0 ? i % keys.length : random.below(44)],
      );
      const text = order.map((key, i) => `${key} f=${i}i ${random.pick(times)}\n`).join('');
      expect(decode(text, {}, cache).rows, text).to.deep.equal(decode(text).rows);
    }
  });

  it('reads lines whose end the key alone does not determine like new ones', () => {
    const cache = newCache();
    // The quote opens where a reader of lines sees the key end, and that is not where the key ends.
    const key = 'a\\\\ b="';
    decode(`m f=1 1\n${key} f=1,g="2" 5\n`.repeat(2), {}, cache);
    const text = `m f=1 1\n${key} f=1 5\nm g="2" 6\n`;
    const { rows, rejected } = decode(text, {}, cache);
    expect(rows).to.deep.equal(decode(text).rows);
    expect(rejected.texts).to.have.length(1);
  });

  it('reads all times in range, to the nanosecond', () => {
    const random = new SeededRandom(5);
    const units = { ns: 1n, us: 1_000n, ms: 1_000_000n, s: 1_000_000_000n } as const;
    for (const [precision, unit] of Object.entries(units)) {
      for (let i = 0; i < 300; i++) {
        const digits = BigInt(random.below(1e9)) * 1_000_000_000n + BigInt(random.below(1e9));
        const time = (digits % 10n ** BigInt(1 + random.below(18))) * (i % 2 === 0 ? 1n : -1n);
        if (time * unit > 9_223_372_036_854_775_806n || time * unit < -9_223_372_036_854_775_806n) continue;
        const [row] = decode(`m f=1 ${time}\n`, { precision: precision as LineDecodeOptions['precision'] }).rows;
        expect(row.timeNs, `${time} ${precision}`).to.equal(time * unit);
      }
    }
  });

  it('reads keys, fields of all types and the timestamp', () => {
    expect(onlyRow('weather,city=Oslo\\ Sentrum,c=no temp=3.5,wet=t,note="a \\"b\\", c",n=-7i,u=8u 17')).to.deep.equal({
      table: 'weather',
      tags: { city: 'Oslo Sentrum', c: 'no' },
      fields: {
        temp: ['Float64', 3.5],
        wet: ['Boolean', true],
        note: ['String', 'a "b", c'],
        n: ['Int64', -7n],
        u: ['UInt64', 8n],
      },
      timeNs: 17n,
    });
  });

  it('reads numbers at their limits exactly', () => {
    expect(field('m f=9223372036854775807i 1')).to.deep.equal(['Int64', 9223372036854775807n]);
    expect(field('m f=-9223372036854775808i 1')).to.deep.equal(['Int64', -9223372036854775808n]);
    expect(field('m f=18446744073709551615u 1')).to.deep.equal(['UInt64', 18446744073709551615n]);
    expect(field('m f=1.7976931348623157e308 1')).to.deep.equal(['Float64', Number.MAX_VALUE]);
    expect(field('m f=1e-400 1')).to.deep.equal(['Float64', 0]);
    expect(field('m f=0.1 1')).to.deep.equal(['Float64', 0.1]);
    expect(field('m f=58.131713230497617 1')).to.deep.equal(['Float64', 58.131713230497617]);
    expect(field('m f=1. 1')).to.deep.equal(['Float64', 1]);
    expect(field('m f=.5 1')).to.deep.equal(['Float64', 0.5]);
    expect(Object.is((field('m f=-0 1') as [string, number])[1], -0)).to.equal(true);
  });

  it('treats only the last backslash of a run as an escape', () => {
    expect(onlyRow('a\\\\,b f=1 1').table).to.equal('a\\,b');
    expect(onlyRow('a\\=b\\"c f=1 1').table).to.equal('a=b"c');
    expect(onlyRow('m,t\\ x=v\\,w\\=z f=1 1').tags).to.deep.equal({ 't x': 'v,w=z' });
    expect(onlyRow('m,t=C:\\dir f=1 1').tags).to.deep.equal({ t: 'C:\\dir' });
    expect(onlyRow('m f\\ g=1 1').fields).to.deep.equal({ 'f g': ['Float64', 1] });
    expect(field('m f="a\\nb\\\\c" 1')).to.deep.equal(['String', 'a\\nb\\c']);
  });

  it('treats quotes in names literally', () => {
    expect(onlyRow('"m",t="a" f=1 1')).to.deep.include({ table: '"m"', tags: { t: '"a"' } });
    expect(onlyRow('m "f"=1 1').fields).to.deep.equal({ '"f"': ['Float64', 1] });
  });

  it('lets quoted text span lines, with commas, spaces and equals signs', () => {
    expect(field('m f="a\nb, c=d" 1')).to.deep.equal(['String', 'a\nb, c=d']);
  });

  it('ends lines at LF, CR LF and the end of the body', () => {
    const { rows } = decode('m f=1 1\r\nm f=2 2\nm f=3\r\nm f=4 4');
    expect(rows.map(({ timeNs }) => timeNs)).to.deep.equal([1n, 2n, NOW_NS, 4n]);
  });

  it('skips blank lines and comments', () => {
    const { rows, rejected } = decode('\n  \n\t\0\n# c, x="\n \tm f=1 1\n\r\n#');
    expect(rows).to.have.length(1);
    expect(rejected.malformedCount).to.equal(0);
  });

  it('scales timestamps, and truncates the time of lines without one', () => {
    const times = (precision: LineDecodeOptions['precision']): bigint[] =>
      decode('m f=1 -1\nm f=1', { precision }).rows.map(({ timeNs }) => timeNs);
    expect(times('ns')).to.deep.equal([-1n, 1_700_000_000_123_456_789n]);
    expect(times('us')).to.deep.equal([-1_000n, 1_700_000_000_123_456_000n]);
    expect(times('ms')).to.deep.equal([-1_000_000n, 1_700_000_000_123_000_000n]);
    expect(times('s')).to.deep.equal([-1_000_000_000n, 1_700_000_000_000_000_000n]);
    expect(times('m')).to.deep.equal([-60_000_000_000n, 1_699_999_980_000_000_000n]);
    expect(times('h')).to.deep.equal([-3_600_000_000_000n, 1_699_999_200_000_000_000n]);
  });

  it('lets the last of two values of a field win', () => {
    expect(field('m f=1,g=2,f=3 1')).to.deep.equal(['Float64', 3]);
  });

  it('returns the same series for tags in another order', () => {
    const batches = new BatchSet();
    const decoder = new LineDecoder(
      Buffer.from('m,a=1,b=2 f=1 1\nm,b=2,a=1 f=1 2\nm,a=2,b=1 f=1 3\n'),
      { precision: 'ns', nowNs: 0n },
      newCache(),
      batches,
    );
    decoder.decode(1_000);
    const { tsids, seriesIndex } = batches.table('m').finish(() => 1);
    const ids = [...seriesIndex].map((position) => tsids[position]);
    expect(ids[0]).to.equal(ids[1]);
    expect(ids[2]).not.to.equal(ids[0]);
  });

  it('keeps nothing of a line that fails at its end', () => {
    const { rows } = decode('m,t=a f=1,g="x" 1\nm,t=b f=2,h=9i 1x\nm,t=a f=3 3\n');
    expect(rows.map(({ tags, fields }) => [tags['t'], fields])).to.deep.equal([
      ['a', { f: ['Float64', 1], g: ['String', 'x'] }],
      ['a', { f: ['Float64', 3] }],
    ]);
  });

  it('explains what is wrong with a key', () => {
    rejects(',t=a f=1', 'missing measurement');
    rejects('m', 'missing fields');
    rejects('m,t=a', 'missing fields');
    rejects('m,t=a ', 'missing fields');
    rejects('m\tf=1', 'missing fields');
    rejects('m, f=1', 'missing tag key');
    rejects('m,=a f=1', 'missing tag key');
    rejects('m,t f=1', 'missing tag value');
    rejects('m,t= f=1', 'missing tag value');
    rejects('m,t=a,t f=1', 'missing tag value');
    rejects('m,t=a=b f=1', 'invalid tag format');
    rejects('m,t=a,t=b f=1', 'duplicate tags');
    rejects('m,__sid=a f=1', 'tag name "__sid" is reserved');
  });

  it('explains what is wrong with fields', () => {
    rejects('m f', 'invalid field format');
    rejects('m f=1,', 'invalid field format');
    rejects('m f=1,g', 'invalid field format');
    rejects('m \tf=1', 'invalid field format');
    rejects('m =1', 'missing field key');
    rejects('m f=', 'missing field value');
    rejects('m f=,g=1', 'missing field value');
    rejects('m f= 1', 'missing field value');
    expect(decode('m f="a\nb').rejected.texts).to.deep.equal([`unable to parse 'm f="a\nb': unbalanced quotes`]);
    rejects('m f="a"b', 'invalid field format');
    rejects('m f=oops', 'invalid boolean');
    rejects('m f=tru', 'invalid boolean');
    rejects('m f=+1', 'invalid boolean');
    rejects('m f=Inf', 'invalid boolean');
    for (const number of ['1.2.3', '0x1f', 'NaN', 'nan', '1_000', '1i5', '-1u', '1.0i', '-', '.', '1\t2']) {
      rejects(`m f=${number}`, 'invalid number');
    }
    rejects('m f=1e', 'invalid float');
    rejects('m f=1e400', 'invalid float');
    rejects('m f=9223372036854775808i', 'unable to parse integer 9223372036854775808: value out of range');
    rejects('m f=18446744073709551616u', 'unable to parse unsigned 18446744073709551616: value out of range');
    rejects('m,t=a t=1', 'input field "t" on measurement "m" is already a tag');
    rejects('m __tsid=1', 'field name "__tsid" is reserved');
  });

  it('explains what is wrong with a timestamp', () => {
    const range = 'time outside range -9223372036854775806 - 9223372036854775806';
    for (const time of ['x', '1.5', '1e3', '+1', '-', '1\t']) rejects(`m f=1 ${time}`, 'bad timestamp');
    rejects('m f=1 1 2', 'point is invalid');
    rejects('m f=1 9223372036854775807', range);
    rejects('m f=1 -9223372036854775807', range);
    rejects('m f=1 99999999999999999999', range);
    expect(onlyRow('m f=1 9223372036854775806').timeNs).to.equal(9223372036854775806n);
    expect(onlyRow('m f=1 -9223372036854775806').timeNs).to.equal(-9223372036854775806n);
    expect(onlyRow('m f=1 0000000000000000000000012').timeNs).to.equal(12n);
  });

  it('limits keys with a field name to 65,535 bytes', () => {
    const value = 'x'.repeat(65_535 - 'm,t='.length - 4 - 1);
    expect(onlyRow(`m,t=${value} f=1 1`).tags['t']).to.equal(value);
    const { rejected } = decode(`m,t=${value}x f=1 1`);
    expect(rejected.texts[0]).to.match(/: max key length exceeded: 65536 > 65535$/);
  });

  it('limits names to those that a column or table can have', () => {
    expect(onlyRow(`m ${'f'.repeat(255)}=1 1`).table).to.equal('m');
    expect(decode(`m ${'f'.repeat(256)}=1`).rejected.texts[0]).to.match(/field name is longer than 255 bytes$/);
    expect(decode(`m,${'t'.repeat(256)}=a f=1`).rejected.texts[0]).to.match(/tag name is longer than 255 bytes$/);
    expect(decode(`${'m'.repeat(256)} f=1`).rejected.texts[0]).to.match(/measurement name is longer than 255 bytes$/);
    expect(decode('m\u0001 f=1').rejected.texts[0]).to.match(/measurement name has control characters$/);
  });

  it('shortens lines in messages, between characters', () => {
    const { rejected } = decode(`m f="${'é'.repeat(200)}`);
    expect(rejected.texts[0]).to.equal(`unable to parse 'm f="${'é'.repeat(125)}': unbalanced quotes`);
  });

  it('keeps a bounded number of messages and counts all lines', () => {
    const { rejected } = decode('m f=x\n'.repeat(100_000));
    expect(rejected.malformedCount).to.equal(100_000);
    expect(rejected.texts.length).to.be.lessThan(400);
  });

  it('lets the first value determine the type of a new field, and counts the others', () => {
    const { rows, rejected } = decode('m f=1 1\nm f=2i 2\nm f="x" 3\nm f=4i 4\nm f=5 5\n');
    expect(rows.map(({ timeNs }) => timeNs)).to.deep.equal([1n, 5n]);
    expect(rejected.malformedCount).to.equal(0);
    expect(rejected.conflicts).to.deep.equal([
      conflictingRows('m', { column: 'f', given: 'Int64', existing: 'Float64' }, 2),
      conflictingRows('m', { column: 'f', given: 'String', existing: 'Float64' }, 1),
    ]);
  });

  it('lets a known type take precedence', () => {
    const fieldTypes = new Map([['m', new Map([['f', 'Int64']])]]);
    const { rows } = decode('m f=1 1\nm f=2i 2\n', { fieldTypes });
    expect(rows.map(({ timeNs }) => timeNs)).to.deep.equal([2n]);
  });

  it('does not let a rejected line determine a type', () => {
    const { rows } = decode('m f=1 x\nm f=2i 2\n');
    expect(rows.map(({ fields }) => fields['f'])).to.deep.equal([['Int64', 2n]]);
  });

  it('refuses a body that is not UTF-8, wherever the invalid byte is', () => {
    const good = 'm,t=a f="x" 1\n'.repeat(500);
    for (const at of [0, 5, 3_000, good.length - 2]) {
      const bytes = Buffer.from(good);
      bytes[at] = 0xff;
      expect(failure(() => decode(bytes)).message, `at ${at}`).to.equal('body is not valid UTF-8');
    }
    const bytes = Buffer.from(`${good}m f="\n\xff"`, 'latin1');
    expect(failure(() => decode(bytes)).message).to.equal('body is not valid UTF-8');
  });

  it('refuses bodies that would need too much memory', () => {
    const tables = Array.from({ length: 10_001 }, (_, i) => `m${i} f=1`).join('\n');
    expect(failure(() => decode(tables)).message).to.equal('request writes to more than 10000 tables');
    const fields = (count: number): string => Array.from({ length: count }, (_, i) => `f${i}=1`).join(',');
    const columns = Array.from({ length: 17 }, (_, i) => `m${i} ${fields(4_000)}`).join('\n');
    expect(failure(() => decode(columns)).message).to.equal('request writes to more than 65536 columns');
    const gaps = failure(() => decode(`m ${fields(4_096)}\n${'m f1=1\n'.repeat(5_000)}`));
    expect(gaps.message).to.match(/rows x columns, the limit is 16777216/);
    expect(gaps.httpStatus).to.equal(413);
    expect(decode(`m ${fields(4_097)}`).rejected.texts[0]).to.match(/: measurement has more than 4096 fields$/);
  });
});
