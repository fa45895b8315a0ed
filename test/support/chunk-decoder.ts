import { invariant } from '#shared/errors/invariant';

/** A sample of a chunk: the bits of a value, or a histogram. */
export interface ChunkSample {
  readonly time: number;
  readonly bits?: bigint;
  readonly histogram?: ChunkHistogram;
}

export interface ChunkHistogram {
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly count: number;
  readonly zeroCount: number;
  readonly sumBits: bigint;
  readonly positiveSpans: readonly (readonly [offset: number, length: number])[];
  readonly negativeSpans: readonly (readonly [offset: number, length: number])[];
  /** Absolute counts. */
  readonly positive: readonly number[];
  readonly negative: readonly number[];
  readonly customValues: readonly number[];
}

const STALE = 0x7ff0000000000002n;
const RESETS: Readonly<Record<number, string>> = { 0: 'unknown', 1: 'no', 2: 'yes', 3: 'gauge' };

/** Decodes a Prometheus chunk with BigInt arithmetic: an independent implementation for tests of the encoder. */
export function decodeChunk(encoding: number, data: Uint8Array): { samples: ChunkSample[]; reset: string } {
  const bits = new BitReader(data);
  const count = Number(bits.take(16));
  if (encoding === 1) return { samples: floats(bits, count), reset: '' };
  const reset = RESETS[Number(bits.take(8)) >> 6];
  return { samples: histograms(bits, count, encoding === 3), reset };
}

class BitReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  take(count: number): bigint {
    let value = 0n;
    for (let i = 0; i < count; i++, this.#at++) {
      invariant(this.#at < this.#bytes.length * 8, 'chunk ends in the middle of a value');
      value = (value << 1n) | BigInt((this.#bytes[this.#at >> 3] >> (7 - (this.#at & 7))) & 1);
    }
    return value;
  }

  /** Reads ones up to a zero, which it consumes, or `limit` ones. Returns their number. */
  ones(limit: number): number {
    let count = 0;
    while (count < limit && this.take(1) === 1n) count++;
    return count;
  }

  /** Reads an integer from `-(2^(n-1)-1)` to `2^(n-1)`. */
  signed(size: number): bigint {
    const value = this.take(size);
    if (size === 64) return BigInt.asIntN(64, value);
    return value > 1n << BigInt(size - 1) ? value - (1n << BigInt(size)) : value;
  }

  uvarint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.take(8);
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  }

  varint(): bigint {
    const value = this.uvarint();
    return (value & 1n) === 0n ? value >> 1n : -(value >> 1n) - 1n;
  }

  varbitInt(): bigint {
    const size = VARBITS[this.ones(8)];
    return size === 0 ? 0n : this.signed(size);
  }

  varbitUint(): bigint {
    const size = VARBITS[this.ones(8)];
    return size === 0 ? 0n : this.take(size);
  }

  double(): number {
    return doubleOf(this.take(64));
  }
}

const VARBITS = [0, 3, 6, 9, 12, 18, 25, 56, 64];

function doubleOf(bits: bigint): number {
  return new Float64Array(BigUint64Array.of(bits).buffer)[0];
}

class Xor {
  bits = 0n;
  #leading = -1;
  #significant = 0;

  next(reader: BitReader): bigint {
    if (reader.take(1) === 0n) return this.bits;
    if (reader.take(1) === 1n) {
      this.#leading = Number(reader.take(5));
      this.#significant = Number(reader.take(6)) || 64;
    }
    invariant(this.#leading >= 0, 'window without one');
    const trailing = 64 - this.#leading - this.#significant;
    return (this.bits ^= reader.take(this.#significant) << BigInt(trailing));
  }
}

function floats(reader: BitReader, count: number): ChunkSample[] {
  const samples: ChunkSample[] = [];
  const xor = new Xor();
  let time = 0n;
  let distance = 0n;
  for (let i = 0; i < count; i++) {
    if (i === 0) time = reader.varint();
    else if (i === 1) time += distance = reader.uvarint();
    else {
      const size = [0, 14, 17, 20, 64][reader.ones(4)];
      distance += size === 0 ? 0n : reader.signed(size);
      time += distance;
    }
    if (i === 0) xor.bits = reader.take(64);
    else xor.next(reader);
    samples.push({ time: Number(time), bits: xor.bits });
  }
  return samples;
}

type Spans = [offset: number, length: number][];

interface Layout {
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly positiveSpans: Spans;
  readonly negativeSpans: Spans;
  readonly customValues: number[];
}

function layoutOf(reader: BitReader): Layout {
  const byte = Number(reader.take(8));
  const zeroThreshold = byte === 0 ? 0 : byte === 255 ? reader.double() : 2 ** (byte - 244);
  const schema = Number(reader.varbitInt());
  const spans = (): Spans =>
    Array.from({ length: Number(reader.varbitUint()) }, () => {
      const length = Number(reader.varbitUint());
      return [Number(reader.varbitInt()), length];
    });
  const positiveSpans = spans();
  const negativeSpans = spans();
  const customValues: number[] = [];
  if (schema === -53) {
    for (let left = reader.varbitUint(); left > 0n; left--) {
      const thousandths = reader.varbitUint();
      customValues.push(thousandths === 0n ? reader.double() : (Number(thousandths) - 1) / 1000);
    }
  }
  return { schema, zeroThreshold, positiveSpans, negativeSpans, customValues };
}

function histograms(reader: BitReader, count: number, isFloat: boolean): ChunkSample[] {
  const layout = layoutOf(reader);
  const total = (spans: Spans): number => spans.reduce((sum, [, length]) => sum + length, 0);
  const [positives, negatives] = [total(layout.positiveSpans), total(layout.negativeSpans)];
  const fields = Array.from({ length: 2 + positives + negatives }, () => (isFloat ? new Xor() : new Twice()));
  const sum = new Xor();
  const samples: ChunkSample[] = [];
  let time = 0n;
  let distance = 0n;
  for (let i = 0; i < count; i++) {
    if (i === 0) time = reader.varbitInt();
    else time += distance += reader.varbitInt();
    const read = (at: number): void => {
      const field = fields[at];
      if (i > 0) field.next(reader);
      else if (isFloat) field.bits = reader.take(64);
      else field.bits = at < 2 ? reader.varbitUint() : reader.varbitInt();
    };
    read(0);
    read(1);
    if (i === 0) sum.bits = reader.take(64);
    else sum.next(reader);
    const isStale = sum.bits === STALE;
    for (let at = 2; at < fields.length && !isStale; at++) read(at);
    const numbers = fields.map(({ bits }) => (isFloat ? doubleOf(bits) : Number(bits)));
    const counts = (from: number, length: number): number[] => {
      let running = 0;
      return numbers.slice(from, from + length).map((number) => (isFloat ? number : (running += number)));
    };
    const histogram: ChunkHistogram = {
      ...layout,
      ...{ count: numbers[0], zeroCount: numbers[1], sumBits: sum.bits },
      positive: counts(2, positives),
      negative: counts(2 + positives, negatives),
    };
    samples.push({ time: Number(time), histogram });
  }
  return samples;
}

/** Decodes an integer from its second differences. */
class Twice {
  bits = 0n;
  #change = 0n;

  next(reader: BitReader): bigint {
    this.#change += reader.varbitInt();
    return (this.bits += this.#change);
  }
}
