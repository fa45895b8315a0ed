import { decodeHistogram } from '#shared/histogram/histogram-bytes';
import type { NativeHistogram } from '#shared/histogram/native-histogram';

import type { SampleSlice } from '../samples/sample-slice.js';
import { CHUNK_SAMPLES_MAX, type Chunk } from './chunk.js';
import { HistogramChunk } from './histogram-chunk.js';
import { xorChunk } from './xor-chunk.js';

/** Encodes samples as chunks. Floats, integer histograms and float histograms never share a chunk. */
export function* chunksOf(slice: SampleSlice): Iterable<Chunk> {
  const { times, histograms } = slice;
  const words = valueWords(slice.values);
  for (let at = 0; at < times.length;) {
    if (histograms?.[at] !== undefined) {
      at = yield* histogramChunks(slice, at);
      continue;
    }
    let end = at + 1;
    while (end < times.length && end - at < CHUNK_SAMPLES_MAX && histograms?.[end] === undefined) end++;
    yield xorChunk(times, words, at, end);
    at = end;
  }
}

/** Returns a view of the values as 32-bit words, the low word of each value first. */
export function valueWords(values: Float64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, values.length * 2);
}

/** Encodes the histograms from row `from` on. @returns the row after them. */
function* histogramChunks({ times, histograms = [] }: SampleSlice, from: number): Generator<Chunk, number> {
  let open: { readonly chunk: HistogramChunk; readonly first: NativeHistogram } | undefined;
  let at = from;
  for (; at < times.length; at++) {
    const bytes = histograms[at];
    if (bytes === undefined) break;
    const next = decodeHistogram(bytes);
    if (open?.chunk.accepts(next) === true) {
      open.chunk.append(next, times[at]);
      continue;
    }
    const isReset = open?.chunk.resets(next) ?? false;
    if (open !== undefined) yield open.chunk.finish(open.first.isFloat);
    open = { chunk: new HistogramChunk(next, { timeMs: times[at], isReset: isReset }), first: next };
  }
  if (open !== undefined) yield open.chunk.finish(open.first.isFloat);
  return at;
}
