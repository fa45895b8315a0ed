import { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** Bits of a double, which distinguish NaN values and zeros. */
export type Bits = bigint;

const STALE = 0x7ff0000000000002n;
const SPECIAL = [0, -0, Infinity, -Infinity, 5e-324, -2.5e-310, 1.7976931348623157e308, 0.1 + 0.2, 1 / 3].map(bitsOf);

export function bitsOf(value: number): Bits {
  return new BigUint64Array(Float64Array.of(value).buffer)[0];
}

export function doubleOf(bits: Bits): number {
  return new Float64Array(BigUint64Array.of(bits).buffer)[0];
}

/** Returns random doubles of all kinds by the name of their series; most of those of one series are of one kind. */
export function oddDoubles(seed: number, count: number): ReadonlyMap<string, readonly Bits[]> {
  const random = new SeededRandom(seed);
  const kinds = new Map<string, () => Bits>();
  for (let digits = 0; digits <= 12; digits++) {
    kinds.set(`decimal${digits}`, () => bitsOf(decimal(random, digits, 1 + random.below(9))));
  }
  kinds.set('mixed', () => bitsOf(decimal(random, random.below(13), random.below(9))));
  kinds.set('cents', () => bitsOf(Math.round(1e7 * random.fraction()) / 100));
  kinds.set('integer', () => bitsOf(Math.round(2 ** (60 * random.fraction()) * sign(random))));
  kinds.set('sum', () => bitsOf(random.below(1000) * 0.1 + random.below(1000) * 0.7));
  kinds.set('fraction', () => bitsOf(random.fraction() * 1e6));
  kinds.set('bits', () => (BigInt(random.nextU32()) << 32n) | BigInt(random.nextU32()));
  kinds.set('nan', () => nan(random));
  const outlier = (): Bits => {
    const at = random.below(SPECIAL.length + 2);
    return at < SPECIAL.length ? SPECIAL[at] : at === SPECIAL.length ? STALE : nan(random);
  };
  return new Map(
    Array.from(kinds, ([name, draw]) => {
      return [name, Array.from({ length: count }, () => (random.below(12) === 0 ? outlier() : draw()))];
    }),
  );
}

function sign(random: SeededRandom): number {
  return random.below(2) === 0 ? 1 : -1;
}

/** A number as it is read from a text. @param whole largest number of digits before the point. */
function decimal(random: SeededRandom, digits: number, whole: number): number {
  const fraction = Array.from({ length: digits }, () => String(random.below(10))).join('');
  return sign(random) * Number(`${random.below(10 ** whole)}.${fraction}`);
}

function nan(random: SeededRandom): Bits {
  return (BigInt(random.below(2)) << 63n) | (0x7ffn << 52n) | BigInt(1 + random.below(2 ** 30));
}
