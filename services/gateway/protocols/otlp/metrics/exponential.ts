import { RESET_HINTS, type BucketSpan, type NativeHistogram } from '#shared/histogram/native-histogram';
import { BYTES, FIXED64, malformedBody, VARINT, type WireReader } from '#shared/protobuf/wire-reader';

const SCALE_MIN = -4;
/** Scales above this have no meaning for doubles; histograms are stored with scale 8 at most. */
const SCALE_MAX = 52;
const BUCKETS_MAX = 10_000;
/** What the specification of native histograms gives to histograms without a threshold. */
const DEFAULT_ZERO_THRESHOLD = 1e-128;
/** Gaps of up to this many empty buckets do not begin a new span. */
const GAP_MAX = 2;

/** Numbers of the fields of an exponential histogram. */
const Field = { count: 4, sum: 5, scale: 6, zeroCount: 7, positive: 8, negative: 9, zeroThreshold: 14 } as const;

const FIELDS_END = 15;
const WIRE_TYPES: readonly (number | undefined)[] = Object.assign(new Array<number | undefined>(FIELDS_END), {
  [Field.count]: FIXED64,
  [Field.sum]: FIXED64,
  [Field.scale]: VARINT,
  [Field.zeroCount]: FIXED64,
  [Field.positive]: BYTES,
  [Field.negative]: BYTES,
  [Field.zeroThreshold]: FIXED64,
});

interface Side {
  readonly spans: readonly BucketSpan[];
  readonly buckets: readonly number[];
}

const NO_BUCKETS: Side = { spans: [], buckets: [] };

/**
 * Reads an exponential histogram as a native histogram, whose buckets have an index that is greater by one. A text is the
 * reason to reject the point.
 */
export function readExponentialPoint(
  reader: WireReader,
  from: number,
  end: number,
  isDelta: boolean,
): NativeHistogram | string {
  const numbers = new Float64Array(FIELDS_END);
  const sides: Side[] = [NO_BUCKETS, NO_BUCKETS];
  let reason = '';
  reader.eachField(from, end, (field, type, start, to) => {
    const wanted = WIRE_TYPES[field];
    if (wanted === undefined) return;
    if (type !== wanted) throw malformedBody();
    if (type === BYTES) {
      const side = readSide(reader, start, to);
      if (typeof side === 'string') reason = side;
      else sides[field - Field.positive] = side;
    } else {
      numbers[field] = readNumber(reader, field, start, to);
    }
  });
  const scale = numbers[Field.scale];
  if (reason !== '') return reason;
  if (scale < SCALE_MIN || scale > SCALE_MAX) return `unsupported scale ${scale} of an exponential histogram`;
  const [positive, negative] = sides;
  return {
    isFloat: false,
    isStale: false,
    schema: scale,
    zeroThreshold: numbers[Field.zeroThreshold] === 0 ? DEFAULT_ZERO_THRESHOLD : numbers[Field.zeroThreshold],
    sum: numbers[Field.sum],
    resetHint: isDelta ? RESET_HINTS.gauge : RESET_HINTS.unknown,
    startMs: 0,
    count: numbers[Field.count],
    zeroCount: numbers[Field.zeroCount],
    customValues: [],
    positiveSpans: positive.spans,
    negativeSpans: negative.spans,
    positiveBuckets: positive.buckets,
    negativeBuckets: negative.buckets,
  };
}

function readNumber(reader: WireReader, field: number, from: number, to: number): number {
  if (field === Field.sum || field === Field.zeroThreshold) return reader.double(from, to);
  if (field === Field.scale) {
    reader.varint64(from, to);
    return reader.zigzag;
  }
  reader.fixed64(from, to);
  return reader.unsigned;
}

function readSide(reader: WireReader, from: number, end: number): Side | string {
  let offset = 0;
  const counts: number[] = [];
  reader.eachField(from, end, (field, type, start, to) => {
    if (field === 1) {
      if (type !== VARINT) throw malformedBody();
      reader.varint64(start, to);
      offset = reader.zigzag;
    } else if (field === 2) {
      if (type === FIXED64) throw malformedBody();
      for (let at = start; at < to && counts.length <= BUCKETS_MAX;) {
        reader.varint64(at, to);
        at = reader.at;
        counts.push(reader.unsigned);
      }
    }
  });
  if (counts.length > BUCKETS_MAX) return `exponential histogram has more than ${BUCKETS_MAX} buckets`;
  return spansOf(offset + 1, counts);
}

/** @param first index of the first bucket. */
function spansOf(first: number, counts: readonly number[]): Side {
  const spans: { offset: number; length: number }[] = [];
  const buckets: number[] = [];
  /** Index after the last bucket of a span. */
  let end = 0;
  for (const [i, count] of counts.entries()) {
    if (count === 0) continue;
    const index = first + i;
    const last = spans.at(-1);
    if (last !== undefined && index - end <= GAP_MAX) {
      for (; end < index; end++, last.length++) buckets.push(0);
      last.length++;
    } else {
      spans.push({ offset: index - end, length: 1 });
    }
    buckets.push(count);
    end = index + 1;
  }
  return { spans, buckets };
}
