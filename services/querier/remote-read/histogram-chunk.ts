import {
  CUSTOM_SCHEMA,
  RESET_HINTS,
  STALE_HIGH,
  STALE_LOW,
  type BucketSpan,
  type NativeHistogram,
} from '#shared/histogram/native-histogram';

import { BitWriter, varbitInt, varbitUint, XorField } from './bit-writer.js';
import { CHUNK_SAMPLES_MAX, FLOAT_HISTOGRAM_CHUNK, HISTOGRAM_CHUNK, type Chunk } from './chunk.js';

/** Header flags of a chunk by the counter reset hint of its first histogram. */
const RESET_FLAGS = {
  [RESET_HINTS.unknown]: 0,
  [RESET_HINTS.yes]: 0b1000_0000,
  [RESET_HINTS.no]: 0b0100_0000,
  [RESET_HINTS.gauge]: 0b1100_0000,
} as const;
/** Count up to which second differences of integers are exact. */
const EXACT_MAX = 2 ** 50;
/** Range of exponents in which a zero threshold that is a power of two is written as one byte. */
const EXPONENT_MIN = -242;
const EXPONENT_MAX = 11;
/** Largest custom bound, in thousandths, that is written as an integer. */
const BOUND_THOUSANDTHS_MAX = 33_554_430;

/** Encodes one number of the successive histograms of a chunk. */
interface NumberField {
  next(bits: BitWriter, value: number): void;
}

/** Start of a chunk. */
export interface ChunkStart {
  readonly timeMs: number;
  /** Whether the counter was reset since the previous chunk. */
  readonly isReset: boolean;
}

/** Encodes native histograms with the same buckets as differences from each other. */
export class HistogramChunk {
  readonly #bits = new BitWriter();
  readonly #minMs: number;
  readonly #sum = new XorField();
  readonly #fields: NumberField[] = [];
  #last: NativeHistogram;
  #maxMs: number;
  #distance = 0;
  #count = 1;

  constructor(first: NativeHistogram, { timeMs, isReset: isReset }: ChunkStart) {
    this.#last = first;
    this.#minMs = this.#maxMs = timeMs;
    const bits = this.#bits;
    // Placeholder for the number of samples.
    bits.bits(0, 16);
    bits.bits(RESET_FLAGS[isReset ? RESET_HINTS.yes : first.resetHint], 8);
    writeLayout(bits, first);
    varbitInt(bits, timeMs);
    const [count, zeroCount, ...buckets] = numbersOf(first);
    this.#addField(count, varbitUint);
    this.#addField(zeroCount, varbitUint);
    const { high, low } = sumWords(first);
    this.#sum.first(bits, high, low);
    for (const bucket of buckets) this.#addField(bucket, varbitInt);
  }

  /** Reports whether the histogram can be appended to this chunk. */
  accepts(next: NativeHistogram): boolean {
    if (this.#last.isStale || this.#count >= CHUNK_SAMPLES_MAX) return false;
    return next.isStale || (hasSameLayout(this.#last, next) && !this.resets(next) && isExact(this.#last, next));
  }

  /** Reports whether the histogram has, or its counts imply, a counter reset. */
  resets(next: NativeHistogram): boolean {
    if (next.isStale || next.resetHint === RESET_HINTS.gauge || this.#last.resetHint === RESET_HINTS.gauge) {
      return false;
    }
    if (next.resetHint === RESET_HINTS.yes || next.count < this.#last.count) return true;
    if (next.zeroThreshold !== this.#last.zeroThreshold || next.zeroCount < this.#last.zeroCount) {
      return next.zeroThreshold === this.#last.zeroThreshold;
    }
    if (!hasSameLayout(this.#last, next)) return false;
    const isLess = (buckets: readonly number[], before: readonly number[]): boolean =>
      buckets.some((bucket, i) => bucket < before[i]);
    return (
      isLess(next.positiveBuckets, this.#last.positiveBuckets) ||
      isLess(next.negativeBuckets, this.#last.negativeBuckets)
    );
  }

  /** @param next accepted by `accepts`. */
  append(next: NativeHistogram, timeMs: number): void {
    const bits = this.#bits;
    const distance = timeMs - this.#maxMs;
    varbitInt(bits, distance - this.#distance);
    const numbers = next.isStale ? [this.#last.count, this.#last.zeroCount] : numbersOf(next);
    if (next.isStale && !this.#last.isFloat) bits.bits(0, 2);
    else for (let i = 0; i < 2; i++) this.#fields[i].next(bits, numbers[i]);
    const { high, low } = sumWords(next);
    this.#sum.next(bits, high, low);
    for (let i = 2; i < numbers.length; i++) this.#fields[i].next(bits, numbers[i]);
    this.#distance = distance;
    this.#maxMs = timeMs;
    // `accepts` is false after a stale histogram, so its missing counts are never used.
    this.#last = next;
    this.#count++;
  }

  finish(isFloat: boolean): Chunk {
    const data = this.#bits.bytes();
    data[0] = this.#count >>> 8;
    data[1] = this.#count & 0xff;
    return {
      minMs: this.#minMs,
      maxMs: this.#maxMs,
      encoding: isFloat ? FLOAT_HISTOGRAM_CHUNK : HISTOGRAM_CHUNK,
      data,
    };
  }

  #addField(value: number, writeFirst: (bits: BitWriter, value: number) => void): void {
    if (this.#last.isFloat) {
      const field = new DoubleField();
      field.first(this.#bits, value);
      this.#fields.push(field);
    } else {
      writeFirst(this.#bits, value);
      this.#fields.push(new IntegerField(value));
    }
  }
}

/** Writes an integer as its second difference. */
class IntegerField implements NumberField {
  #before: number;
  #change = 0;

  constructor(first: number) {
    this.#before = first;
  }

  next(bits: BitWriter, value: number): void {
    const change = value - this.#before;
    varbitInt(bits, change - this.#change);
    this.#before = value;
    this.#change = change;
  }
}

/** Writes a double as the XOR with the previous one. */
class DoubleField implements NumberField {
  readonly #field = new XorField();

  first(bits: BitWriter, value: number): void {
    const { high, low } = wordsOf(value);
    this.#field.first(bits, high, low);
  }

  next(bits: BitWriter, value: number): void {
    const { high, low } = wordsOf(value);
    this.#field.next(bits, high, low);
  }
}

/** Returns count, zero count and buckets; integer buckets as differences from the previous bucket. */
function numbersOf({ isFloat, count, zeroCount, positiveBuckets, negativeBuckets }: NativeHistogram): number[] {
  const deltas = (buckets: readonly number[]): readonly number[] =>
    isFloat ? buckets : buckets.map((bucket, i) => bucket - (i === 0 ? 0 : buckets[i - 1]));
  return [count, zeroCount, ...deltas(positiveBuckets), ...deltas(negativeBuckets)];
}

function isExact(...both: readonly NativeHistogram[]): boolean {
  return both.every(({ isFloat, count }) => isFloat || count <= EXACT_MAX);
}

function hasSameLayout(one: NativeHistogram, other: NativeHistogram): boolean {
  const isGauge = ({ resetHint }: NativeHistogram): boolean => resetHint === RESET_HINTS.gauge;
  return (
    one.isFloat === other.isFloat &&
    one.schema === other.schema &&
    one.zeroThreshold === other.zeroThreshold &&
    isGauge(one) === isGauge(other) &&
    sameSpans(one.positiveSpans, other.positiveSpans) &&
    sameSpans(one.negativeSpans, other.negativeSpans) &&
    one.customValues.length === other.customValues.length &&
    one.customValues.every((bound, i) => bound === other.customValues[i])
  );
}

function sameSpans(one: readonly BucketSpan[], other: readonly BucketSpan[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ offset, length }, i) => offset === other[i].offset && length === other[i].length)
  );
}

function writeLayout(bits: BitWriter, histogram: NativeHistogram): void {
  const { schema, zeroThreshold, positiveSpans, negativeSpans, customValues } = histogram;
  writeThreshold(bits, zeroThreshold);
  varbitInt(bits, schema);
  writeSpans(bits, positiveSpans);
  writeSpans(bits, negativeSpans);
  if (schema !== CUSTOM_SCHEMA) return;
  varbitUint(bits, customValues.length);
  for (const bound of customValues) writeBound(bits, bound);
}

function writeSpans(bits: BitWriter, spans: readonly BucketSpan[]): void {
  varbitUint(bits, spans.length);
  for (const { offset, length } of spans) {
    varbitUint(bits, length);
    varbitInt(bits, offset);
  }
}

function writeThreshold(bits: BitWriter, threshold: number): void {
  if (threshold === 0) return bits.bits(0, 8);
  const { high, low } = wordsOf(threshold);
  // Exponent of the threshold as 0.5 times a power of two.
  const exponent = ((high >>> 20) & 0x7ff) - 1022;
  const isPower = threshold > 0 && low === 0 && (high & 0xfffff) === 0;
  if (isPower && exponent >= EXPONENT_MIN && exponent <= EXPONENT_MAX) {
    return bits.bits(exponent - EXPONENT_MIN + 1, 8);
  }
  bits.bits(0xff, 8);
  bits.words(high, low);
}

function writeBound(bits: BitWriter, bound: number): void {
  const thousandths = Math.round(bound * 1000);
  if (bound >= 0 && bound * 1000 <= BOUND_THOUSANDTHS_MAX && thousandths / 1000 === bound) {
    return varbitUint(bits, thousandths + 1);
  }
  bits.bits(0, 1);
  const { high, low } = wordsOf(bound);
  bits.words(high, low);
}

const scratch = new DataView(new ArrayBuffer(8));

interface Words {
  readonly high: number;
  readonly low: number;
}

const STALE: Words = { high: STALE_HIGH, low: STALE_LOW };

function wordsOf(value: number): Words {
  scratch.setFloat64(0, value);
  return { high: scratch.getInt32(0), low: scratch.getInt32(4) };
}

function sumWords({ isStale, sum }: NativeHistogram): Words {
  return isStale ? STALE : wordsOf(sum);
}
