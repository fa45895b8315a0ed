import { coarsened } from '#shared/histogram/coarsen';
import {
  histogramProblem,
  STALE_HIGH,
  STALE_LOW,
  type BucketSpan,
  type NativeHistogram,
  type ResetHint,
} from '#shared/histogram/native-histogram';
import { BYTES, FIXED64, VARINT, type WireReader } from '#shared/protobuf/wire-reader';

import type { HistogramSample } from '../common/metric-rows.js';

/** Field numbers of a histogram, the same in both versions. */
const COUNT_INT = 1;
const COUNT_FLOAT = 2;
const SUM = 3;
const SCHEMA = 4;
const ZERO_THRESHOLD = 5;
const ZERO_COUNT_INT = 6;
const ZERO_COUNT_FLOAT = 7;
const NEGATIVE_SPANS = 8;
const NEGATIVE_DELTAS = 9;
const NEGATIVE_COUNTS = 10;
const POSITIVE_SPANS = 11;
const POSITIVE_DELTAS = 12;
const POSITIVE_COUNTS = 13;
const RESET_HINT = 14;
const TIME = 15;
const CUSTOM_VALUES = 16;
const START_TIME = 17;
const SPAN_OFFSET = 1;
const SPAN_LENGTH = 2;

/** Buckets, spans and bounds of a histogram; senders have hundreds. */
const ITEMS_MAX = 65_536;

/** The fields of the message, not checked yet. */
class RawHistogram {
  countInt: number | undefined = undefined;
  countFloat: number | undefined = undefined;
  zeroInt: number | undefined = undefined;
  zeroFloat: number | undefined = undefined;
  sum = 0;
  isStale = false;
  schema = 0;
  zeroThreshold = 0;
  resetHint = 0;
  startMs = 0;
  timeLow = 0;
  timeHigh = 0;
  /** Number of spans, buckets and bounds; those above `ITEMS_MAX` are only counted. */
  itemCount = 0;
  readonly customValues: number[] = [];
  readonly positiveSpans: BucketSpan[] = [];
  readonly negativeSpans: BucketSpan[] = [];
  readonly positiveDeltas: number[] = [];
  readonly negativeDeltas: number[] = [];
  readonly positiveCounts: number[] = [];
  readonly negativeCounts: number[] = [];
}

/**
 * Reads the histogram in `[from, end)`; a text is the reason to reject it.
 *
 * @throws `invalid_arguments` if the message is malformed.
 */
export function readWireHistogram(reader: WireReader, from: number, end: number): HistogramSample | string {
  const raw = new RawHistogram();
  for (let at = from; at < end;) {
    const tag = reader.varint(at, end);
    const start = reader.at;
    at = reader.skip(tag, start, end);
    readField(raw, reader, tag, { start, end: at });
  }
  if (raw.itemCount > ITEMS_MAX) return `histogram has more than ${ITEMS_MAX} spans, buckets and bounds`;
  const { timeLow, timeHigh, startMs } = raw;
  const isFloat = raw.countFloat !== undefined;
  const problem = familyProblem(raw, isFloat);
  if (problem !== '' && !raw.isStale) return problem;
  const histogram: NativeHistogram = {
    isFloat,
    isStale: raw.isStale,
    schema: raw.schema,
    zeroThreshold: raw.zeroThreshold,
    sum: raw.sum,
    resetHint: hintOf(raw.resetHint),
    startMs: Number.isSafeInteger(startMs) ? startMs : 0,
    count: raw.countFloat ?? raw.countInt ?? 0,
    zeroCount: raw.zeroFloat ?? raw.zeroInt ?? 0,
    customValues: raw.customValues,
    positiveSpans: raw.positiveSpans,
    negativeSpans: raw.negativeSpans,
    positiveBuckets: isFloat ? raw.positiveCounts : runningSums(raw.positiveDeltas),
    negativeBuckets: isFloat ? raw.negativeCounts : runningSums(raw.negativeDeltas),
  };
  const reason = histogramProblem(histogram);
  if (reason !== '') return reason;
  return { histogram: raw.isStale ? staleOf(histogram) : coarsened(histogram), timeLow, timeHigh };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function readField(raw: RawHistogram, reader: WireReader, tag: number, range: Range): void {
  const field = tag >>> 3;
  const isPacked = (tag & 7) === BYTES;
  // `skip` has left the start of a packed field in `at`.
  const from = isPacked ? reader.at : range.start;
  if (field === NEGATIVE_SPANS || field === POSITIVE_SPANS) {
    if (!isPacked || ++raw.itemCount > ITEMS_MAX) return;
    const spans = field === NEGATIVE_SPANS ? raw.negativeSpans : raw.positiveSpans;
    spans.push(readSpan(reader, from, range.end));
    return;
  }
  const list = listOf(raw, field);
  if (list !== undefined) {
    const areDeltas = field === NEGATIVE_DELTAS || field === POSITIVE_DELTAS;
    if ((tag & 7) !== BYTES && (tag & 7) !== (areDeltas ? VARINT : FIXED64)) return;
    const before = list.length;
    readNumbers(list, reader, areDeltas, { start: from, end: range.end });
    raw.itemCount += list.length - before;
    return;
  }
  if (!isPacked) readNumber(raw, reader, tag, range);
}

function listOf(raw: RawHistogram, field: number): number[] | undefined {
  switch (field) {
    case NEGATIVE_DELTAS:
      return raw.negativeDeltas;
    case POSITIVE_DELTAS:
      return raw.positiveDeltas;
    case NEGATIVE_COUNTS:
      return raw.negativeCounts;
    case POSITIVE_COUNTS:
      return raw.positiveCounts;
    case CUSTOM_VALUES:
      return raw.customValues;
    default:
      return undefined;
  }
}

/** Reads repeated numbers, packed or single, up to `ITEMS_MAX`. */
function readNumbers(list: number[], reader: WireReader, areDeltas: boolean, range: Range): void {
  for (let at = range.start; at < range.end && list.length <= ITEMS_MAX; at = reader.at) {
    if (areDeltas) {
      reader.varint64(at, range.end);
      list.push(reader.zigzag);
    } else {
      list.push(reader.double(at, range.end));
    }
  }
}

function readNumber(raw: RawHistogram, reader: WireReader, tag: number, { start, end }: Range): void {
  const isDouble = (tag & 7) === FIXED64;
  if (isDouble) reader.fixed64(start, end);
  else if ((tag & 7) === VARINT) reader.varint64(start, end);
  else return;
  if (isDouble) readDouble(raw, tag >>> 3, reader, start, end);
  else readInteger(raw, tag >>> 3, reader);
}

function readDouble(raw: RawHistogram, field: number, reader: WireReader, start: number, end: number): void {
  const value = reader.double(start, end);
  switch (field) {
    case COUNT_FLOAT:
      raw.countFloat = value;
      raw.countInt = undefined;
      break;
    case SUM:
      raw.sum = value;
      raw.isStale = reader.low === STALE_LOW && reader.high === STALE_HIGH;
      break;
    case ZERO_THRESHOLD:
      raw.zeroThreshold = value;
      break;
    case ZERO_COUNT_FLOAT:
      raw.zeroFloat = value;
      raw.zeroInt = undefined;
      break;
  }
}

function readInteger(raw: RawHistogram, field: number, reader: WireReader): void {
  switch (field) {
    case COUNT_INT:
      raw.countInt = reader.unsigned;
      raw.countFloat = undefined;
      break;
    case ZERO_COUNT_INT:
      raw.zeroInt = reader.unsigned;
      raw.zeroFloat = undefined;
      break;
    case SCHEMA:
      raw.schema = zigzag32(reader.low);
      break;
    case RESET_HINT:
      raw.resetHint = reader.low;
      break;
    case TIME:
      raw.timeLow = reader.low;
      raw.timeHigh = reader.high;
      break;
    case START_TIME:
      raw.startMs = reader.signed;
      break;
  }
}

function readSpan(reader: WireReader, from: number, end: number): BucketSpan {
  let offset = 0;
  let length = 0;
  reader.eachField(from, end, (field, type) => {
    if (type !== VARINT) return;
    if (field === SPAN_OFFSET) offset = zigzag32(reader.low);
    else if (field === SPAN_LENGTH) length = reader.low >>> 0;
  });
  return { offset, length };
}

function hintOf(number: number): ResetHint {
  return (number >= 0 && number <= 3 ? number : 0) as ResetHint;
}

function zigzag32(low: number): number {
  return (low >>> 1) ^ -(low & 1);
}

/** Returns the problem if integer and floating-point counts are mixed. */
function familyProblem(raw: RawHistogram, isFloat: boolean): string {
  const { positiveDeltas, negativeDeltas, positiveCounts, negativeCounts } = raw;
  const hasDeltas = positiveDeltas.length > 0 || negativeDeltas.length > 0;
  const hasCounts = positiveCounts.length > 0 || negativeCounts.length > 0;
  const isMixed = isFloat ? raw.zeroInt !== undefined || hasDeltas : raw.zeroFloat !== undefined || hasCounts;
  return isMixed ? 'histogram mixes counts of integers and of floats' : '';
}

function runningSums(deltas: readonly number[]): number[] {
  let sum = 0;
  return deltas.map((delta) => (sum += delta));
}

/** Returns the marker of a series that ends. */
function staleOf({ startMs }: NativeHistogram): NativeHistogram {
  const none = { customValues: [], positiveSpans: [], negativeSpans: [], positiveBuckets: [], negativeBuckets: [] };
  const numbers = { schema: 0, zeroThreshold: 0, sum: Number.NaN, count: 0, zeroCount: 0, resetHint: 0 as const };
  return { isFloat: false, isStale: true, startMs, ...numbers, ...none };
}
