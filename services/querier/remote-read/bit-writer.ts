const FIRST_BYTES = 256;
const TWO_TO_32 = 4_294_967_296;

/** Bits one after the other, the most significant first; the last byte is filled with zeros. */
export class BitWriter {
  #bytes = new Uint8Array(FIRST_BYTES);
  /** The byte that is being filled, and how many of its bits are free. */
  #at = 0;
  #free = 8;

  /** The lowest bits of a number. @param count at most 32. */
  bits(value: number, count: number): void {
    // This many bytes and one more: the next one is looked at.
    if (this.#at + 6 > this.#bytes.length) this.#grow();
    let rest = count;
    while (rest > 0) {
      const taken = rest < this.#free ? rest : this.#free;
      const part = (value >>> (rest - taken)) & ((1 << taken) - 1);
      this.#bytes[this.#at] |= part << (this.#free - taken);
      rest -= taken;
      this.#free -= taken;
      if (this.#free > 0) continue;
      this.#at++;
      this.#free = 8;
    }
  }

  words(high: number, low: number): void {
    this.bits(high, 32);
    this.bits(low, 32);
  }

  /** The lowest bits of an integer in two's complement. */
  integer(value: number, count: number): void {
    if (count > 32) this.bits(Math.floor(value / TWO_TO_32), count - 32);
    this.bits(value, Math.min(count, 32));
  }

  /** An unsigned integer in groups of seven bits, the lowest first. */
  uvarint(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.bits((rest % 0x80) | 0x80, 8);
    this.bits(rest, 8);
  }

  /** A signed integer the same way, its sign last. */
  varint(value: number): void {
    this.uvarint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  written(): Uint8Array {
    return this.#bytes.slice(0, this.#free === 8 ? this.#at : this.#at + 1);
  }

  #grow(): void {
    const grown = new Uint8Array(this.#bytes.length * 2);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** Sizes in which integers are written that are mostly small: how many bits, behind a prefix of ones and a zero. */
const VARBIT_SIZES = [3, 6, 9, 12, 18, 25, 56];
const PREFIX_BITS_MAX = 8;

/** A signed integer in as few bits as its size needs. */
export function varbitInt(bits: BitWriter, value: number): void {
  varbit(bits, value, (size) => fitsSigned(value, size));
}

export function varbitUint(bits: BitWriter, value: number): void {
  varbit(bits, value, (size) => value < 2 ** size);
}

function varbit(bits: BitWriter, value: number, fits: (size: number) => boolean): void {
  if (value === 0) return bits.bits(0, 1);
  const place = VARBIT_SIZES.findIndex(fits);
  const ones = place < 0 ? PREFIX_BITS_MAX : place + 1;
  // As many ones, and a zero unless the prefix is the longest.
  if (ones === PREFIX_BITS_MAX) bits.bits(0xff, PREFIX_BITS_MAX);
  else bits.bits(2 ** (ones + 1) - 2, ones + 1);
  bits.integer(value, VARBIT_SIZES[place] ?? 64);
}

/** Whether a value has a place in so many bits, of which the pattern of the lowest number stands for the highest. */
export function fitsSigned(value: number, size: number): boolean {
  return value > -(2 ** (size - 1)) && value <= 2 ** (size - 1);
}

/** Bits of doubles one after the other, each as its difference from the one before. */
export class XorField {
  #high = 0;
  #low = 0;
  #leading = NO_WINDOW;
  #trailing = 0;

  /** The first value, whole. */
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
      // 64 does not fit, and 0 cannot be.
      bits.bits((64 - leading - trailing) & 63, 6);
    }
    middle(bits, high, low, { leading: this.#leading, trailing: this.#trailing });
  }
}

const LEADING_MAX = 31;
/** More than there can be. */
const NO_WINDOW = 64;

/** What is left without the zeros at both ends. */
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
