import { coarsened } from '#shared/histogram/coarsen';
import {
  histogramProblem,
  STALE_HIGH,
  STALE_LOW,
  type BucketSpan,
  type NativeHistogram,
  type ResetHint,
} from '#shared/histogram/native-histogram';

import { BYTES, malformedBody, type WireReader } from '#shared/protobuf/wire-reader';

/** A histogram of either version, and when it is of. */
export interface HistogramSample {
  readonly histogram: NativeHistogram;
  readonly timeLow: number;
  readonly timeHigh: number;
}

/** Field numbers. */
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

/** Buckets, spans and bounds: senders have hundreds. */
const ITEMS_MAX = 65_536;

/** The message as it stands there, before the rules about it. */
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
  /** Spans, buckets and bounds so far; those above `ITEMS_MAX` are only counted. */
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
 * Reads the histogram in `[from, end)`; a text is the reason to refuse it.
 *
 * @throws `invalid_arguments` if the message is malformed.
 */
export function readHistogram(scanner: WireReader, from: number, end: number): HistogramSample | string {
  const raw = new RawHistogram();
  for (let at = from; at < end;) {
    const tag = scanner.varint(at, end);
    const start = scanner.at;
    at = scanner.skip(tag, start, end);
    readField(raw, scanner, tag, { start, end: at });
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

function readField(raw: RawHistogram, scanner: WireReader, tag: number, range: Range): void {
  const field = tag >>> 3;
  const isPacked = (tag & 7) === BYTES;
  // A packed field was skipped last, so `at` is where its bytes begin.
  const from = isPacked ? scanner.at : range.start;
  if (field === NEGATIVE_SPANS || field === POSITIVE_SPANS) {
    if (!isPacked || ++raw.itemCount > ITEMS_MAX) return;
    const spans = field === NEGATIVE_SPANS ? raw.negativeSpans : raw.positiveSpans;
    spans.push(readSpan(scanner, from, range.end));
    return;
  }
  const list = listOf(raw, field);
  if (list !== undefined) {
    const areDeltas = field === NEGATIVE_DELTAS || field === POSITIVE_DELTAS;
    if ((tag & 7) !== BYTES && (tag & 7) !== (areDeltas ? 0 : 1)) return;
    const before = list.length;
    readNumbers(list, scanner, areDeltas, { start: from, end: range.end });
    raw.itemCount += list.length - before;
    return;
  }
  if (!isPacked) readNumber(raw, scanner, tag, range);
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

/** Repeated numbers, packed or one by one; of very many only some. */
function readNumbers(list: number[], scanner: WireReader, areDeltas: boolean, range: Range): void {
  for (let at = range.start; at < range.end && list.length <= ITEMS_MAX; at = scanner.at) {
    if (areDeltas) {
      scanner.varint64(at, range.end);
      list.push(scanner.zigzag);
    } else {
      list.push(scanner.double(at, range.end));
    }
  }
}

function readNumber(raw: RawHistogram, scanner: WireReader, tag: number, { start, end }: Range): void {
  const isDouble = (tag & 7) === 1;
  if (isDouble) scanner.fixed64(start, end);
  else if ((tag & 7) === 0) scanner.varint64(start, end);
  else return;
  if (isDouble) readDouble(raw, tag >>> 3, scanner, start, end);
  else readInteger(raw, tag >>> 3, scanner);
}

function readDouble(raw: RawHistogram, field: number, scanner: WireReader, start: number, end: number): void {
  const value = scanner.double(start, end);
  switch (field) {
    case COUNT_FLOAT:
      raw.countFloat = value;
      raw.countInt = undefined;
      break;
    case SUM:
      raw.sum = value;
      raw.isStale = scanner.low === STALE_LOW && scanner.high === STALE_HIGH;
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

function readInteger(raw: RawHistogram, field: number, scanner: WireReader): void {
  switch (field) {
    case COUNT_INT:
      raw.countInt = scanner.unsigned;
      raw.countFloat = undefined;
      break;
    case ZERO_COUNT_INT:
      raw.zeroInt = scanner.unsigned;
      raw.zeroFloat = undefined;
      break;
    case SCHEMA:
      raw.schema = zigzag32(scanner.low);
      break;
    case RESET_HINT:
      raw.resetHint = scanner.low;
      break;
    case TIME:
      raw.timeLow = scanner.low;
      raw.timeHigh = scanner.high;
      break;
    case START_TIME:
      raw.startMs = scanner.signed;
      break;
  }
}

function readSpan(scanner: WireReader, from: number, end: number): BucketSpan {
  let offset = 0;
  let length = 0;
  for (let at = from; at < end;) {
    const tag = scanner.varint(at, end);
    const start = scanner.at;
    at = scanner.skip(tag, start, end);
    if ((tag & 7) !== 0) continue;
    if (tag >>> 3 === SPAN_OFFSET) offset = zigzag32(scanner.low);
    else if (tag >>> 3 === SPAN_LENGTH) length = scanner.low >>> 0;
  }
  if (from > end) throw malformedBody();
  return { offset, length };
}

function hintOf(number: number): ResetHint {
  return (number >= 0 && number <= 3 ? number : 0) as ResetHint;
}

function zigzag32(low: number): number {
  return (low >>> 1) ^ -(low & 1);
}

/** Whether counts of integers and of doubles are mixed. */
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

/** Only that the series ends. */
function staleOf({ startMs }: NativeHistogram): NativeHistogram {
  const none = { customValues: [], positiveSpans: [], negativeSpans: [], positiveBuckets: [], negativeBuckets: [] };
  const numbers = { schema: 0, zeroThreshold: 0, sum: Number.NaN, count: 0, zeroCount: 0, resetHint: 0 as const };
  return { isFloat: false, isStale: true, startMs, ...numbers, ...none };
}
