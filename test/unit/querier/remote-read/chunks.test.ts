import { expect } from 'chai';

import { chunksOf } from '#services/querier/remote-read/chunks';
import { FrameWriter } from '#services/querier/remote-read/frames';
import { Labels } from '#services/querier/series/labels';
import type { SampleSlice } from '#services/querier/samples/sample-slice';
import { encodeHistogram } from '#shared/histogram/histogram-bytes';
import {
  histogramProblem,
  STALE_HIGH,
  STALE_LOW,
  type BucketSpan,
  type NativeHistogram,
} from '#shared/histogram/native-histogram';
import { decodeChunk, type ChunkSample } from '#test/support/chunk-decoder';
import { framesOf } from '#test/support/remote-read-messages';

type Value = number | 'stale' | NativeHistogram;

const STALE_BITS = 0x7ff0000000000002n;

function sliceOf(rows: readonly (readonly [time: number, value: Value])[]): SampleSlice {
  const values = Float64Array.from(rows, ([, value]) => (typeof value === 'number' ? value : 0));
  const words = new Int32Array(values.buffer);
  for (const [i, [, value]] of rows.entries()) if (value === 'stale') words.set([STALE_LOW, STALE_HIGH], 2 * i);
  const histograms = rows.map(([, value]) => (typeof value === 'object' ? encodeHistogram(value) : undefined));
  return {
    ...{ times: Float64Array.from(rows, ([time]) => time), values, missing: undefined, starts: undefined },
    histograms: histograms.some((it) => it !== undefined) ? histograms : undefined,
    isAscending: true,
  };
}

function floatsOf(samples: readonly ChunkSample[]): unknown[] {
  return samples.map(({ time, bits = 0n }) => [
    time,
    bits === STALE_BITS ? 'stale' : new Float64Array(BigUint64Array.of(bits).buffer)[0],
  ]);
}

/** Returns a pseudo-random generator with a fixed sequence. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('chunks of floats', () => {
  it('are byte for byte those of Prometheus', () => {
    const slice = sliceOf([
      [1000, 1],
      [2000, 2],
      [3000, 2],
    ]);
    const [chunk] = chunksOf(slice);
    expect(hex(chunk.data)).to.equal('0003d00f3ff0000000000000e807c25fff00');
    const labels = Labels.of([['__name__', 'm1']]);
    const [frame] = new FrameWriter().frames({ labels, slice }, 0);
    expect(hex(frame)).to.equal(
      '30f9abaa1f0a2e0a0e0a085f5f6e616d655f5f12026d31121c08e80710b817180122120003d00f3ff0000000000000e807c25fff00',
    );
  });

  it('store all times and values exactly, at most 120 per chunk', () => {
    const specials = [0, -0, NaN, Infinity, -Infinity, Number.MIN_VALUE, Number.MAX_VALUE, 1e21, 0.1, 'stale'] as const;
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed);
      // A zigzag varint needs one more bit than the time, and doubles are exact up to 53 bits.
      let time = Math.floor((next() - 0.5) * 2 ** Math.floor(next() * 52));
      const rows = Array.from({ length: 1 + Math.floor(next() * 400) }, (_, i): [number, Value] => {
        time += 1 + Math.floor(next() * 2 ** (seed % 5 === 0 ? 3 : Math.floor(next() * 40)));
        const kind = Math.floor(next() * 4);
        if (kind === 0) return [time, i];
        if (kind === 1) return [time, specials[Math.floor(next() * specials.length)]];
        return [time, kind === 2 ? next() : (next() - 0.5) * 2 ** Math.floor(next() * 2000 - 1000)];
      });
      const chunks = [...chunksOf(sliceOf(rows))];
      const samples = chunks.flatMap(({ encoding, data, minMs, maxMs }) => {
        const read = decodeChunk(encoding, data).samples;
        expect([read[0].time, read[read.length - 1].time], `seed ${seed}`).to.deep.equal([minMs, maxMs]);
        expect(read.length).to.be.at.most(120);
        return read;
      });
      expect(floatsOf(samples), `seed ${seed}`).to.deep.equal(rows);
    }
  });

  it('continue in another frame after 1 MiB', () => {
    const next = random(7);
    const rows = Array.from({ length: 400_000 }, (_, i): [number, number] => [i * 1000, next()]);
    const series = { labels: Labels.of([['__name__', 'm']]), slice: sliceOf(rows) };
    const frames = [...new FrameWriter().frames(series, 3)];
    expect(frames.length).to.be.within(2, 5);
    for (const frame of frames) expect(frame.length).to.be.below(1.1 * 2 ** 20);
    const read = framesOf(Buffer.concat(frames));
    expect(new Set(read.map(({ query, labels }) => `${query} ${labels}`))).to.deep.equal(new Set(['3 __name__=m']));
    const samples = read.flatMap(({ chunks }) => chunks.flatMap((chunk) => chunk.samples));
    expect(floatsOf(samples)).to.deep.equal(rows);
  }).timeout(20_000);
});

function histogram(changes: Partial<NativeHistogram> & Pick<NativeHistogram, 'positiveBuckets'>): NativeHistogram {
  const { positiveBuckets, negativeBuckets = [], zeroCount = 0 } = changes;
  const total = [...positiveBuckets, ...negativeBuckets].reduce((sum, it) => sum + it, zeroCount);
  const span = (length: number): BucketSpan[] => (length === 0 ? [] : [{ offset: -2, length }]);
  const made: NativeHistogram = {
    ...{ isFloat: false, isStale: false, schema: 1, zeroThreshold: 2 ** -128, zeroCount, sum: total / 3, startMs: 0 },
    ...{ resetHint: 0 as const, count: total, customValues: [], negativeBuckets },
    ...{ positiveSpans: span(positiveBuckets.length), negativeSpans: span(negativeBuckets.length) },
    ...changes,
  };
  expect(histogramProblem(made)).to.equal('');
  return made;
}

const STALE_HISTOGRAM: NativeHistogram = {
  ...histogram({ positiveBuckets: [] }),
  ...{ isStale: true, schema: 0, zeroThreshold: 0, sum: NaN },
};

/** Encodes and decodes rows. Returns `encoding reset` of each chunk and the decoded histograms. */
function readBack(rows: readonly (readonly [number, Value])[]): { kinds: string[]; samples: ChunkSample[] } {
  const chunks = [...chunksOf(sliceOf(rows))].map(({ encoding, data }) => ({
    encoding,
    ...decodeChunk(encoding, data),
  }));
  const kinds = chunks.map(({ encoding, reset, samples }) => `${encoding} ${reset} ${samples.length}`);
  return { kinds, samples: chunks.flatMap(({ samples }) => samples) };
}

function expectSame(samples: readonly ChunkSample[], rows: readonly (readonly [number, NativeHistogram])[]): void {
  const pairs = (spans: readonly BucketSpan[]): unknown => spans.map(({ offset, length }) => [offset, length]);
  expect(samples.map(({ time, histogram: read }) => [time, read])).to.deep.equal(
    rows.map(([time, it]) => [
      time,
      {
        ...{ schema: it.schema, zeroThreshold: it.zeroThreshold, count: it.count, zeroCount: it.zeroCount },
        sumBits: new BigUint64Array(Float64Array.of(it.sum).buffer)[0],
        ...{ positiveSpans: pairs(it.positiveSpans), negativeSpans: pairs(it.negativeSpans) },
        ...{ positive: it.positiveBuckets, negative: it.negativeBuckets, customValues: it.customValues },
      },
    ]),
  );
}

describe('chunks of histograms', () => {
  it('store growing integer and float counts', () => {
    for (const isFloat of [false, true]) {
      const rows = Array.from({ length: 250 }, (_, i): [number, NativeHistogram] => {
        const scale = isFloat ? 1.5 : 1;
        const positiveBuckets = [i, 3 * i * i, 7].map((count) => count * scale);
        return [
          i * 15_000,
          histogram({ isFloat, positiveBuckets, negativeBuckets: [i * scale], zeroCount: i * scale }),
        ];
      });
      const { kinds, samples } = readBack(rows);
      const encoding = isFloat ? 3 : 2;
      expect(kinds).to.deep.equal([120, 120, 10].map((count) => `${encoding} unknown ${count}`));
      expectSame(samples, rows);
    }
  });

  it('store custom bounds and all kinds of thresholds', () => {
    const rows = [0, 2 ** -243, 2 ** 10, 2 ** 11, 0.001, 1e-310].map((zeroThreshold, i): [number, NativeHistogram] => [
      i,
      histogram({ zeroThreshold, positiveBuckets: [1] }),
    ]);
    expectSame(readBack(rows).samples, rows);
    const customValues = [-3.5, 0, 0.001, 0.5, 1.0005, 33_554.43, 33_554.431, 1e300];
    const custom = { schema: -53, zeroThreshold: 0, customValues, positiveSpans: [{ offset: 3, length: 2 }] };
    const others: [number, NativeHistogram][] = [[-5, histogram({ ...custom, positiveBuckets: [4, 5] })]];
    expectSame(readBack(others).samples, others);
  });

  it('start after a counter reset, a bucket change, a gauge, the end of a series, or a float', () => {
    const at = (n: number, changes: Partial<NativeHistogram> = {}): NativeHistogram =>
      histogram({ positiveBuckets: [n, 2 * n], ...changes });
    const rows: [number, Value][] = [
      [1, at(5)],
      [2, at(6)],
      [3, at(2)],
      [4, at(3, { resetHint: 1 })],
      [5, at(4, { schema: 2 })],
      [6, at(9, { resetHint: 3 })],
      [7, at(1, { resetHint: 3 })],
      [8, STALE_HISTOGRAM],
      [9, at(1)],
      [10, 3.5],
      [11, 'stale'],
      [12, at(2)],
      [13, at(1, { isFloat: true })],
      [14, STALE_HISTOGRAM],
    ];
    const { kinds, samples } = readBack(rows);
    expect(kinds).to.deep.equal([
      ...['2 unknown 2', '2 yes 1', '2 yes 1', '2 unknown 1', '2 gauge 3', '2 unknown 1', '1  2', '2 unknown 1'],
      '3 yes 2',
    ]);
    expect(samples.map(({ time }) => time)).to.deep.equal(rows.map(([time]) => time));
    for (const time of [8, 14]) {
      expect(samples.find((it) => it.time === time)?.histogram?.sumBits).to.equal(STALE_BITS);
    }
  });

  it('are exact up to the counts that doubles represent, and hold one histogram above', () => {
    const counts = [2 ** 49, 2 ** 50, 2 ** 53 - 1, 2 ** 60, 2 ** 62];
    const rows = counts.map((count, i): [number, NativeHistogram] => [i, histogram({ positiveBuckets: [count] })]);
    const { kinds, samples } = readBack(rows);
    expect(kinds.map((kind) => kind.split(' ')[2])).to.deep.equal(['2', '1', '1', '1']);
    expectSame(samples, rows);
  });
});
