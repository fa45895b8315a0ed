import { CUSTOM_SCHEMA } from '#shared/histogram/native-histogram';

/** Finest exponential schema: 256 buckets per power of two. */
const SCHEMA_MAX = 8;
const EXPONENT_MAX = 1024;
/** Fractional bits of a bound before rounding; far more than those of a double, so that rounding is exact. */
const PRECISION = 128n;
const MANTISSA_BITS = 52n;

/**
 * Returns the upper bound of an exponential bucket: `2^(index * 2^-schema)`, correctly rounded, so that equal bounds of
 * different schemas are equal doubles. The bound 2^1024 is the largest double.
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
  // In two steps, because 2^power may overflow where the product does not.
  const half = Math.trunc(power / 2);
  return fraction * 2 ** half * 2 ** (power - half);
}

/** Bucket layout of a histogram. */
interface BucketLayout {
  readonly schema: number;
  /** Ascending upper bounds, for the custom schema. */
  readonly custom: readonly number[];
}

/** Returns the lower bound of a bucket on the positive side. */
export function bucketLowerBound(histogram: BucketLayout, index: number): number {
  const { schema, custom } = histogram;
  if (schema !== CUSTOM_SCHEMA) return exponentialBound(schema, index - 1);
  return index === 0 ? -Infinity : custom[index - 1];
}

/** Returns the upper bound of a bucket on the positive side. */
export function bucketUpperBound(histogram: BucketLayout, index: number): number {
  const { schema, custom } = histogram;
  if (schema !== CUSTOM_SCHEMA) return exponentialBound(schema, index);
  return index < custom.length ? custom[index] : Infinity;
}

/** Cache of 2^(k / 256) for k from 0 to 255. */
class Fractions {
  readonly #values = new Float64Array(2 ** SCHEMA_MAX);

  at(k: number): number {
    if (this.#values[k] === 0) this.#values[k] = root(k);
    return this.#values[k];
  }
}

const FRACTIONS = new Fractions();

/** Computes 2^(k / 256), rounded to the nearest double, by eight integer square roots. */
function root(k: number): number {
  let value = 1n << (BigInt(k) + PRECISION);
  for (let i = 0; i < SCHEMA_MAX; i++) value = squareRoot(value << PRECISION);
  const cut = PRECISION - MANTISSA_BITS;
  const mantissa = (value + (1n << (cut - 1n))) >> cut;
  return Number(mantissa) / 2 ** Number(MANTISSA_BITS);
}

/** Integer square root by Newton's method. */
function squareRoot(value: bigint): bigint {
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (guess + value / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}
