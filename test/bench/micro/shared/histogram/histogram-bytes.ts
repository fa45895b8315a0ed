/** Encoding and decoding of native histograms: `npm run bench -- micro`. */
import { decodeHistogram, encodeHistogram } from '#shared/histogram/histogram-bytes';
import { RESET_HINTS, type NativeHistogram } from '#shared/histogram/native-histogram';

import { measure } from '../../measure.js';

const buckets = Array.from({ length: 40 }, (_, i) => (i * i) % 97);
const histogram: NativeHistogram = {
  ...{ isFloat: false, isStale: false, schema: 3, zeroThreshold: 1e-128, sum: 1234.5, resetHint: RESET_HINTS.unknown },
  ...{ startMs: 0, count: buckets.reduce((sum, count) => sum + count, 3), zeroCount: 3, customValues: [] },
  ...{ positiveSpans: [{ offset: 2, length: 40 }], negativeSpans: [], positiveBuckets: buckets, negativeBuckets: [] },
};
const bytes = encodeHistogram(histogram);
await measure('histogram: encode 40 buckets', 'histograms', 1, () => encodeHistogram(histogram));
await measure('histogram: decode 40 buckets', 'histograms', 1, () => decodeHistogram(bytes));
