const FIRST_BYTES = 256;
const TWO_TO_32 = 4_294_967_296;

/** Writes bits, most significant first. The last byte is padded with zeros. */
export class BitWriter {
  #bytes = new Uint8Array(FIRST_BYTES);
  /** Index of the current byte, and the number of its free bits. */
  #at = 0;
  #free = 8;

  /** Writes the lowest `count` bits of a number. @param count at most 32. */
  bits(value: number, count: number): void {
    // A call fills at most five bytes, and the loop may step to the one after.
    if (this.#at + 6 > this.#bytes.length) this.#grow();
    let rest = count;
    while (rest > 0) {
      const width = rest < this.#free ? rest : this.#free;
      const part = (value >>> (rest - width)) & ((1 << width) - 1);
      this.#bytes[this.#at] |= part << (this.#free - width);
      rest -= width;
      this.#free -= width;
      if (this.#free > 0) continue;
      this.#at++;
      this.#free = 8;
    }
  }

  words(high: number, low: number): void {
    this.bits(high, 32);
    this.bits(low, 32);
  }

  /** Writes the lowest `count` bits of an integer in two's complement. */
  integer(value: number, count: number): void {
    if (count > 32) this.bits(Math.floor(value / TWO_TO_32), count - 32);
    this.bits(value, Math.min(count, 32));
  }

  /** Writes an unsigned integer as a varint: groups of seven bits, lowest first. */
  uvarint(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.bits((rest % 0x80) | 0x80, 8);
    this.bits(rest, 8);
  }

  /** Writes a signed integer as a zigzag varint. */
  varint(value: number): void {
    this.uvarint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#free === 8 ? this.#at : this.#at + 1);
  }

  #grow(): void {
    const grown = new Uint8Array(this.#bytes.length * 2);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** Bit widths of Prometheus's varbit encoding. Each width is announced by a prefix of ones and a zero. */
const VARBIT_SIZES = [3, 6, 9, 12, 18, 25, 56];
const PREFIX_BITS_MAX = 8;

/** Writes a signed integer in the varbit encoding, which is short for small numbers. */
export function varbitInt(bits: BitWriter, value: number): void {
  varbit(bits, value, (size) => fitsSigned(value, size));
}

/** Writes an unsigned integer in the varbit encoding. */
export function varbitUint(bits: BitWriter, value: number): void {
  varbit(bits, value, (size) => value < 2 ** size);
}

function varbit(bits: BitWriter, value: number, fits: (size: number) => boolean): void {
  if (value === 0) return bits.bits(0, 1);
  const index = VARBIT_SIZES.findIndex(fits);
  const ones = index < 0 ? PREFIX_BITS_MAX : index + 1;
  // A zero ends the prefix, unless it has the maximum length.
  if (ones === PREFIX_BITS_MAX) bits.bits(0xff, PREFIX_BITS_MAX);
  else bits.bits(2 ** (ones + 1) - 2, ones + 1);
  bits.integer(value, VARBIT_SIZES[index] ?? 64);
}

/** Reports whether a value fits into `size` bits. The lowest bit pattern encodes the highest number. */
export function fitsSigned(value: number, size: number): boolean {
  return value > -(2 ** (size - 1)) && value <= 2 ** (size - 1);
}

/** Writes a sequence of doubles, each as the XOR with the previous one (Gorilla). */
export class XorField {
  #high = 0;
  #low = 0;
  #leading = NO_WINDOW;
  #trailing = 0;

  /** Writes the first value in full. */
  first(bits: BitWriter, high: number, low: number): void {
    this.#high = high;
    this.#low = low;
    bits.words(high, low);
  }

  next(bits: BitWriter, nextHigh: number, nextLow: number): void {
    const high = nextHigh ^ this.#high;
    const low = nextLow ^ this.#low;
    this.#high = nextHigh;
    this.#low = nextLow;
    if (high === 0 && low === 0) return bits.bits(0, 1);
    const leading = Math.min(high === 0 ? 32 + Math.clz32(low) : Math.clz32(high), LEADING_MAX);
    const trailing = low === 0 ? 32 + trailingZeros(high) : trailingZeros(low);
    if (leading >= this.#leading && trailing >= this.#trailing) {
      bits.bits(0b10, 2);
    } else {
      this.#leading = leading;
      this.#trailing = trailing;
      bits.bits(0b11, 2);
      bits.bits(leading, 5);
      // 64 does not fit into 6 bits and is written as 0, which cannot occur.
      bits.bits((64 - leading - trailing) & 63, 6);
    }
    middle(bits, high, low, { leading: this.#leading, trailing: this.#trailing });
  }
}

const LEADING_MAX = 31;
/** Greater than any number of leading zeros, so that the first difference opens a window. */
const NO_WINDOW = 64;

/** Writes the bits between the leading and trailing zeros. */
function middle(
  bits: BitWriter,
  high: number,
  low: number,
  { leading, trailing }: { readonly leading: number; readonly trailing: number },
): void {
  const count = 64 - leading - trailing;
  if (trailing >= 32) return bits.bits(high >>> (trailing - 32), count);
  if (count > 32) bits.bits(high >>> trailing, count - 32);
  const shifted = trailing === 0 ? low : (low >>> trailing) | (high << (32 - trailing));
  bits.bits(shifted, Math.min(count, 32));
}

function trailingZeros(word: number): number {
  return 31 - Math.clz32(word & -word);
}
