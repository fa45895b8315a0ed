import { decodeHistogram } from '#shared/histogram/histogram-bytes';
import type { NativeHistogram } from '#shared/histogram/native-histogram';

import type { SampleSlice } from '../samples/sample-slice.js';
import { CHUNK_SAMPLES_MAX, type Chunk } from './chunk.js';
import { HistogramChunk } from './histogram-chunk.js';
import { xorChunk } from './xor-chunk.js';

/** The samples of a series as chunks: floats, histograms and histograms of floats never share one. */
export function* chunksOf(piece: SampleSlice): Iterable<Chunk> {
  const { times, histograms } = piece;
  const words = wordsOf(piece.values);
  for (let at = 0; at < times.length;) {
    if (histograms?.[at] !== undefined) {
      at = yield* histogramChunks(piece, at);
      continue;
    }
    let end = at + 1;
    while (end < times.length && end - at < CHUNK_SAMPLES_MAX && histograms?.[end] === undefined) end++;
    yield xorChunk(times, words, at, end);
    at = end;
  }
}

/** The low and the high word of each value. */
export function wordsOf(values: Float64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, values.length * 2);
}

/** Histograms from a row on; returns the row behind them. */
function* histogramChunks({ times, histograms = [] }: SampleSlice, from: number): Generator<Chunk, number> {
  let open: { readonly chunk: HistogramChunk; readonly first: NativeHistogram } | undefined;
  let at = from;
  for (; at < times.length; at++) {
    const bytes = histograms[at];
    if (bytes === undefined) break;
    const next = decodeHistogram(bytes);
    if (open?.chunk.takes(next) === true) {
      open.chunk.append(next, times[at]);
      continue;
    }
    const isReset = open?.chunk.resets(next) ?? false;
    if (open !== undefined) yield open.chunk.finish(open.first.isFloat);
    open = { chunk: new HistogramChunk(next, { timeMs: times[at], isReset }), first: next };
  }
  if (open !== undefined) yield open.chunk.finish(open.first.isFloat);
  return at;
}
