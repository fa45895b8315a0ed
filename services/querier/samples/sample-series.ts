import { STALE_HIGH, STALE_LOW } from '#shared/histogram/native-histogram';

import type { Histogram } from '../promql/histogram/histogram.js';
import type { Labels } from '../series/labels.js';
import type { SampleSeries } from '../promql/runtime/samples.js';
import { readHistogram } from './histograms.js';
import type { SampleSlice } from './sample-slice.js';

/** A series for the engine. @param piece ascending, no row without a sample. */
export function sampleSeries(labels: Labels, piece: SampleSlice): SampleSeries {
  const { times, values } = piece;
  const stale = staleMarks(values);
  if (piece.histograms === undefined && piece.starts === undefined) {
    return stale === undefined ? { labels, times, values } : { labels, times, values, stale };
  }
  return withHistograms(labels, piece, stale);
}

function withHistograms(labels: Labels, piece: SampleSlice, floatMarks: Uint8Array | undefined): SampleSeries {
  const { times, values } = piece;
  let stale = floatMarks;
  let startTimes = piece.starts;
  const histograms = piece.histograms?.map((bytes, i): Histogram | undefined => {
    if (bytes === undefined) return undefined;
    const { histogram, startMs } = readHistogram(bytes);
    if (histogram === undefined) (stale ??= new Uint8Array(times.length))[i] = 1;
    if (startMs !== 0) (startTimes ??= new Float64Array(times.length))[i] = startMs;
    return histogram;
  });
  return {
    ...{ labels, times, values },
    ...(histograms?.some((it) => it !== undefined) === true ? { histograms } : {}),
    ...(stale === undefined ? {} : { stale }),
    ...(startTimes === undefined ? {} : { startTimes }),
  };
}

/** Where a series ended; undefined if nowhere. The mark is one NaN of many, told by its bits. */
function staleMarks(values: Float64Array): Uint8Array | undefined {
  let marks: Uint8Array | undefined;
  let words: Int32Array | undefined;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === value) continue;
    words ??= new Int32Array(values.buffer, values.byteOffset, values.length * 2);
    if (words[2 * i] === STALE_LOW && words[2 * i + 1] === STALE_HIGH) (marks ??= new Uint8Array(values.length))[i] = 1;
  }
  return marks;
}
