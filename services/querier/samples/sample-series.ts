import { STALE_HIGH, STALE_LOW } from '#shared/histogram/native-histogram';

import type { Histogram } from '../promql/histogram/histogram.js';
import type { Labels } from '../series/labels.js';
import type { SampleSeries } from '../promql/runtime/samples.js';
import { readHistogram } from './histograms.js';
import type { SampleSlice } from './sample-slice.js';

/** Converts stored samples to a series for the engine. @param slice ascending, every row has a sample. */
export function sampleSeries(labels: Labels, slice: SampleSlice): SampleSeries {
  const { times, values } = slice;
  const stale = staleMarks(values);
  if (slice.histograms === undefined && slice.starts === undefined) {
    if (stale === undefined) return { labels, times, values, counter: undefined };
    return { labels, times, values, counter: undefined, stale };
  }
  return withHistograms(labels, slice, stale);
}

function withHistograms(labels: Labels, slice: SampleSlice, floatMarks: Uint8Array | undefined): SampleSeries {
  const { times, values } = slice;
  let stale = floatMarks;
  let startTimes = slice.starts;
  const histograms = slice.histograms?.map((bytes, i): Histogram | undefined => {
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

/** Marks staleness markers, which are one specific NaN; undefined if there are none. */
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
