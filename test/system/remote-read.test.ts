import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import {
  CHUNKS,
  framesOf,
  readBody,
  remoteRead,
  wholeSeries,
  type FrameRead,
  type ReadSeries,
} from '#test/support/remote-read-messages';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { segmentCount } from '#test/support/segment-count';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000_000;
const TABLE = 'almanac_physical_table';
const STALE = 0x7ff0000000000002n;

type Pairs = Readonly<Record<string, string>>;

function labelled(labels: Pairs, rest: Omit<Series, 'labels'>): Series {
  return { labels: Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)), ...rest };
}

function bitsOf(value: number): bigint {
  return new BigUint64Array(Float64Array.of(value).buffer)[0];
}

/** Histograms of both kinds and with custom bounds, as messages. */
const HISTOGRAMS = [
  {
    ...{ count_int: 12, sum: 18.4, schema: 1, zero_threshold: 0.001, zero_count_int: 2, reset_hint: 1 },
    ...{
      positive_spans: [
        { offset: 0, length: 2 },
        { offset: 1, length: 1 },
      ],
      positive_deltas: [1, 1, -1],
    },
    ...{ negative_spans: [{ offset: -3, length: 2 }], negative_deltas: [4, -2] },
  },
  {
    count_float: 1.5,
    sum: -3,
    schema: -2,
    positive_spans: [{ offset: 5, length: 1 }],
    positive_counts: [1.5],
    reset_hint: 3,
  },
  {
    ...{ count_int: 3, sum: 0.5, schema: -53, custom_values: [0.25, 7] },
    ...{ positive_spans: [{ offset: 0, length: 3 }], positive_deltas: [1, 0, 0] },
  },
].map((it, i) => ({ ...it, timestamp: T0 + i * 1000 }));

describe('remote read from a process', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function write(series: readonly Series[], query = ''): Promise<void> {
    const body = Uint8Array.from(compressSync(bodyV1(series)));
    const { status, text } = await almanac.post(`/v1/prometheus/write${query}`, body);
    expect(status, text).to.equal(204);
  }

  async function whole(matchers: readonly string[], from = 0, to = 1e15): Promise<ReadSeries[]> {
    const { status, body, text } = await remoteRead(almanac, readBody([{ from, to, matchers }]));
    expect(status, text).to.equal(200);
    return wholeSeries(body)[0];
  }

  async function frames(matchers: readonly string[], from = 0, to = 1e15): Promise<FrameRead[]> {
    const { status, body, text } = await remoteRead(almanac, readBody([{ from, to, matchers }], [CHUNKS]));
    expect(status, text).to.equal(200);
    return framesOf(body);
  }

  /** The answer of both kinds must be the same; what is not flushed, flushed, and both together. */
  async function floats(matchers: readonly string[], from?: number, to?: number): Promise<Record<string, unknown[]>> {
    const all = await whole(matchers, from, to);
    const streamed = new Map<string, unknown[]>();
    for (const { labels, chunks } of await frames(matchers, from, to)) {
      const samples = chunks.flatMap((chunk) => chunk.samples);
      streamed.set(labels, [...(streamed.get(labels) ?? []), ...samples]);
    }
    expect([...streamed]).to.deep.equal(all.map(({ labels, samples }) => [labels, samples]));
    return Object.fromEntries(all.map(({ labels, samples }) => [labels, samples.map((it) => [it.time - T0, it.bits])]));
  }

  it('returns every bit, in the order of labels, before and after a flush', async () => {
    const odd = [0, -0, 1.5, NaN, Infinity, -Infinity, Number.MIN_VALUE, 1e300];
    const samples = odd.map((value, i) => ({ value, timestamp: T0 + i * 15_001 }));
    const count = Array.from({ length: 500 }, (_, i) => ({ value: i, timestamp: T0 + i }));
    await write([
      labelled({ __name__: 'odd', z: '1' }, { samples }),
      labelled({ __name__: 'odd', a: 'x', z: '0' }, { samples: count }),
      labelled({ __name__: 'odd', Z: 'x' }, { samples: [count[0]] }),
      labelled({ __name__: 'other' }, { samples: count }),
    ]);
    const expected = {
      'Z=x,__name__=odd': [[0, 0n]],
      '__name__=odd,a=x,z=0': count.map(({ value, timestamp }) => [timestamp - T0, bitsOf(value)]),
      '__name__=odd,z=1': samples.map(({ value, timestamp }) => [timestamp - T0, bitsOf(value)]),
    };
    const read = await floats(['__name__=odd']);
    expect(read).to.deep.equal(expected);
    expect(Object.keys(read)).to.deep.equal(Object.keys(expected));
    await almanac.sql(`ADMIN flush_table('${TABLE}')`);
    expect(await floats(['__name__=odd'])).to.deep.equal(expected);
    await write([labelled({ __name__: 'odd', Z: 'x' }, { samples: [{ value: 7, timestamp: T0 + 1 }] })]);
    const more = {
      ...expected,
      'Z=x,__name__=odd': [
        [0, 0n],
        [1, bitsOf(7)],
      ],
    };
    expect(await floats(['__name__=odd'])).to.deep.equal(more);
    const part = await floats(['__name__=odd', 'a=x'], T0 + 10, T0 + 12);
    expect(part).to.deep.equal({ '__name__=odd,a=x,z=0': [10, 11, 12].map((i) => [i, bitsOf(i)]) });
  });

  it('keeps staleness markers', async () => {
    const body = bodyV1([labelled({ __name__: 'ended' }, { samples: [{ value: NaN, timestamp: T0 }] })]);
    Buffer.from('020000000000f07f', 'hex').copy(body, body.indexOf(Buffer.from('000000000000f87f', 'hex')));
    expect((await almanac.post('/v1/prometheus/write', Uint8Array.from(compressSync(body)))).status).to.equal(204);
    for (let time = 0; time < 2; time++) {
      expect(await floats(['__name__=ended'])).to.deep.equal({ '__name__=ended': [[0, STALE]] });
      await almanac.sql(`ADMIN flush_table('${TABLE}')`);
    }
  });

  it('returns every bit after merging, with staleness markers, signed zeros and late rows', async () => {
    const odd = [0, -0, -1.5, NaN, Infinity, -Infinity, -Number.MIN_VALUE, 0.1];
    for (let part = 0; part < 6; part++) {
      const samples = odd.map((value, i) => ({ value, timestamp: T0 + (((part * 7) % 5) * 20 + i) * 15_000 + part }));
      const body = bodyV1([
        labelled({ __name__: 'merged', s: String(part % 2) }, { samples }),
        labelled({ __name__: 'merged_hist', s: '0' }, { histograms: HISTOGRAMS.map((it) => ({ ...it, sum: part })) }),
      ]);
      Buffer.from('020000000000f07f', 'hex').copy(body, body.indexOf(Buffer.from('000000000000f87f', 'hex')));
      expect((await almanac.post('/v1/prometheus/write', Uint8Array.from(compressSync(body)))).status).to.equal(204);
      await almanac.flush(TABLE);
    }
    const matchers = ['__name__=~merged.*'];
    const before = await remoteRead(almanac, readBody([{ from: 0, to: 1e15, matchers }]));
    const parts = segmentCount(almanac.folder);
    await almanac.rows(`ADMIN compact_table('${TABLE}')`);
    expect(segmentCount(almanac.folder)).to.be.below(parts);
    const after = await remoteRead(almanac, readBody([{ from: 0, to: 1e15, matchers }]));
    expect(after.body).to.deep.equal(before.body);
    const marks = Object.values(await floats(['__name__=merged'])).flat() as [number, bigint][];
    expect(marks.filter(([, bits]) => bits === STALE)).to.have.length(6);
    expect(marks.filter(([, bits]) => bits === bitsOf(-0))).to.have.length(6);
  });

  it('returns histograms of all kinds, and floats between them', async () => {
    const samples = [{ value: 4.5, timestamp: T0 + 9000 }];
    await write([labelled({ __name__: 'hist' }, { histograms: HISTOGRAMS, samples })]);
    for (let time = 0; time < 2; time++) {
      const [{ histograms, samples: read }] = await whole(['__name__=hist']);
      expect(read).to.deep.equal([{ time: T0 + 9000, bits: bitsOf(4.5) }]);
      for (const [i, histogram] of HISTOGRAMS.entries()) expect(histograms[i]).to.deep.include(histogram);
      const [{ chunks }] = await frames(['__name__=hist']);
      expect(chunks.map(({ type, reset }) => [type, reset])).to.deep.equal([
        [2, 'yes'],
        [3, 'gauge'],
        [2, 'unknown'],
        [1, ''],
      ]);
      const [first, second, third] = chunks.map((chunk) => chunk.samples[0].histogram);
      expect(first).to.deep.include({ count: 12, zeroCount: 2, positive: [1, 2, 1], negative: [4, 2], schema: 1 });
      expect(second).to.deep.include({ count: 1.5, positive: [1.5], positiveSpans: [[5, 1]], schema: -2 });
      expect(third).to.deep.include({ count: 3, positive: [1, 1, 1], customValues: [0.25, 7] });
      await almanac.sql(`ADMIN flush_table('${TABLE}')`);
    }
  });

  it('reads tables of other protocols, a series for each field, and named databases', async () => {
    expect((await almanac.write(`cpu,host=a user=1,idle=2i ${T0}000000`)).status).to.equal(204);
    expect(await floats(['__name__=cpu'])).to.deep.equal({
      '__field__=idle,__name__=cpu,host=a': [[0, bitsOf(2)]],
      '__field__=user,__name__=cpu,host=a': [[0, bitsOf(1)]],
    });
    expect(Object.keys(await floats(['__name__=cpu', '__field__=user']))).to.deep.equal(['__name__=cpu,host=a']);
    await almanac.sql('CREATE DATABASE idc1');
    await write([
      labelled({ __name__: 'up', x_greptime_database: 'idc1' }, { samples: [{ value: 1, timestamp: T0 }] }),
    ]);
    expect(await floats(['__name__=up'])).to.deep.equal({});
    expect(await floats(['__name__=up', 'x_greptime_database=idc1'])).to.deep.equal({
      '__name__=up': [[0, bitsOf(1)]],
    });
  });

  it('finds series by any matchers', async () => {
    const samples = [{ value: 1, timestamp: T0 }];
    const hosts = ['a', 'ab', 'b', ''].map((host) => labelled({ __name__: 'find', host, n: '1' }, { samples }));
    await write(hosts.map(({ labels, ...rest }) => ({ labels: labels.filter(([, value]) => value !== ''), ...rest })));
    const found = async (...matchers: string[]): Promise<string> => {
      const names = Object.keys(await floats(matchers)).map((text) => /host=(\w*)/.exec(text)?.[1] ?? '-');
      return names.join(' ');
    };
    expect(await found('__name__=find', 'host=~a')).to.equal('a');
    expect(await found('__name__=find', 'host=~a.*')).to.equal('a ab');
    expect(await found('__name__=find', 'host=')).to.equal('-');
    expect(await found('__name__=find', 'host!=')).to.equal('a ab b');
    expect(await found('__name__=find', 'host!~a|b')).to.equal('ab -');
    expect(await found('n=1', 'host=~.+b')).to.equal('ab');
    expect(await found('n=1', 'nothing=~.*', 'host=~(?i)B')).to.equal('b');
  });

  it('streams many series while other requests are served, with memory for a part of them', async function () {
    const series = 3000;
    for (let part = 0; part < 10; part++) {
      const all = Array.from({ length: series }, (_, i) =>
        labelled(
          { __name__: `many_${i % 50}`, i: String(i) },
          {
            samples: Array.from({ length: 60 }, (__, n) => ({
              value: n * i,
              timestamp: T0 + (part * 60 + n) * 15_000,
            })),
          },
        ),
      );
      await write(all);
      if (part % 3 === 2) await almanac.sql(`ADMIN flush_table('${TABLE}')`);
    }
    const started = performance.now();
    const [read, health] = await Promise.all([frames(['__name__=~many_.*']), longestHealth(almanac)]);
    const elapsed = performance.now() - started;
    expect(new Set(read.map(({ labels }) => labels)).size).to.equal(series);
    const count = read.flatMap(({ chunks }) => chunks).reduce((sum, chunk) => sum + chunk.count, 0);
    expect(count).to.equal(series * 600);
    const order = read.map(({ labels }) => labels);
    expect(order).to.deep.equal([...order].sort());
    expect(health, `${Math.round(elapsed)} ms in all`).to.be.below(1000);
  });
});

describe('remote read from a cluster', function () {
  this.timeout(240_000);

  it('returns the series of all ingesters, fresh and flushed', async () => {
    let cleanUp: () => void = () => undefined;
    const cluster = await Cluster.start(
      tempFolder((after) => (cleanUp = after)),
      { ingesters: 2 },
    );
    try {
      const count = 200;
      for (let half = 0; half < 2; half++) {
        const series = Array.from({ length: count }, (_, i) => {
          const samples = Array.from({ length: 200 }, (__, n) => ({ value: i, timestamp: T0 + half * 200 + n }));
          return labelled({ __name__: 'm', i: String(i) }, { samples });
        });
        const { status, text } = await cluster.post(
          '/v1/prometheus/write',
          Uint8Array.from(compressSync(bodyV1(series))),
        );
        expect(status, text).to.equal(204);
        if (half === 0) await cluster.sql(`ADMIN flush_table('${TABLE}')`);
      }
      const query = { from: 0, to: 1e15, matchers: ['__name__=m'] };
      const whole = wholeSeries((await remoteRead(cluster, readBody([query]))).body)[0];
      const frames = framesOf((await remoteRead(cluster, readBody([query], [CHUNKS]))).body);
      expect(whole).to.have.length(count);
      for (const [i, { labels, samples }] of whole.entries()) {
        expect(samples.map(({ time }) => time - T0)).to.deep.equal(Array.from({ length: 400 }, (_, n) => n));
        expect(frames[i].labels).to.equal(labels);
        expect(frames[i].chunks.flatMap((chunk) => chunk.samples)).to.deep.equal(samples);
      }
    } finally {
      await cluster.killAll();
      cleanUp();
    }
  });
});

/** The slowest of some answers of `/health`. */
async function longestHealth(almanac: Almanac): Promise<number> {
  let longest = 0;
  for (let i = 0; i < 30; i++) {
    const started = performance.now();
    await almanac.get('/health');
    longest = Math.max(longest, performance.now() - started);
  }
  return longest;
}
