/** Schema of histograms with bounds of their own. */
export const CUSTOM_SCHEMA = -53;
/** Finest exponential schema: 256 buckets for each power of two. */
const SCHEMA_MAX = 8;
const EXPONENT_MAX = 1024;
/** Bits behind the point when a bound is computed: far more than a double keeps, so that rounding it is exact. */
const PRECISION = 128n;
const MANTISSA_BITS = 52n;

/**
 * Upper bound of an exponential bucket: `2^(index * 2^-schema)`, correctly rounded, so that equal bounds of different
 * schemas are equal doubles. The bound that would be 2^1024 is the greatest double.
 */
export function exponentialBound(schema: number, index: number): number {
  if (schema < 0) {
    const exponent = index * 2 ** -schema;
    return exponent === EXPONENT_MAX ? Number.MAX_VALUE : 2 ** exponent;
  }
  const perPower = 2 ** schema;
  const power = Math.floor(index / perPower);
  const rest = index - power * perPower;
  if (rest === 0) return power === EXPONENT_MAX ? Number.MAX_VALUE : 2 ** power;
  const fraction = FRACTIONS.at(rest * 2 ** (SCHEMA_MAX - schema));
  // In two steps, because 2^power alone may not be a double where the product is one.
  const half = Math.trunc(power / 2);
  return fraction * 2 ** half * 2 ** (power - half);
}

/** How the buckets of a histogram are laid out. */
interface Layout {
  readonly schema: number;
  /** Ascending upper bounds, for the custom schema. */
  readonly custom: readonly number[];
}

/** Lower bound of a bucket on the positive side. */
export function bucketLowerBound(histogram: Layout, index: number): number {
  const { schema, custom } = histogram;
  if (schema !== CUSTOM_SCHEMA) return exponentialBound(schema, index - 1);
  return index === 0 ? -Infinity : custom[index - 1];
}

/** Upper bound of a bucket on the positive side. */
export function bucketUpperBound(histogram: Layout, index: number): number {
  const { schema, custom } = histogram;
  if (schema !== CUSTOM_SCHEMA) return exponentialBound(schema, index);
  return index < custom.length ? custom[index] : Infinity;
}

/** 2^(k / 256) for k of 0 to 255, each computed when it is first asked for. */
class Fractions {
  readonly #values = new Float64Array(2 ** SCHEMA_MAX);

  at(k: number): number {
    if (this.#values[k] === 0) this.#values[k] = root(k);
    return this.#values[k];
  }
}

const FRACTIONS = new Fractions();

/** 2^(k / 256), rounded to the nearest double: eight square roots of whole numbers. */
function root(k: number): number {
  let value = 1n << (BigInt(k) + PRECISION);
  for (let i = 0; i < SCHEMA_MAX; i++) value = squareRoot(value << PRECISION);
  const cut = PRECISION - MANTISSA_BITS;
  const mantissa = (value + (1n << (cut - 1n))) >> cut;
  return Number(mantissa) / 2 ** Number(MANTISSA_BITS);
}

/** The greatest whole number whose square is not above `value`, by Newton's method. */
function squareRoot(value: bigint): bigint {
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (guess + value / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}
