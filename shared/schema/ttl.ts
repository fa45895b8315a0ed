import { AlmanacError } from '#shared/errors/almanac-error';

const UNITS_NS: Readonly<Record<string, bigint>> = (() => {
  const table: Record<string, bigint> = {};
  const add = (names: string, ns: bigint): void => {
    for (const name of names.split(' ')) table[name] = ns;
  };
  add('ns nsec nanos', 1n);
  add('us usec', 1_000n);
  add('ms msec millis', 1_000_000n);
  add('s sec secs second seconds', 1_000_000_000n);
  add('m min mins minute minutes', 60_000_000_000n);
  add('h hr hrs hour hours', 3_600_000_000_000n);
  add('d day days', 86_400_000_000_000n);
  add('w week weeks', 604_800_000_000_000n);
  add('month months M', 2_630_016_000_000_000n); // 30.44 days
  add('y year years', 31_557_600_000_000_000n); // 365.25 days
  return table;
})();

/** Units of the canonical text; years, months and days have a plural. */
const PARTS: readonly (readonly [string, bigint, boolean])[] = [
  ['year', 31_557_600_000_000_000n, true],
  ['month', 2_630_016_000_000_000n, true],
  ['day', 86_400_000_000_000n, true],
  ['h', 3_600_000_000_000n, false],
  ['m', 60_000_000_000n, false],
  ['s', 1_000_000_000n, false],
  ['ms', 1_000_000n, false],
  ['us', 1_000n, false],
  ['ns', 1n, false],
];

/** Something whose rows expire. */
export interface Perishable {
  /** Canonical text (`canonicalTtl`); empty means forever. */
  readonly ttl: string;
}

/**
 * Returns the earliest time that is not expired, in nanoseconds since 1970; undefined if nothing ever expires.
 *
 * @param nowNs one reading of the clock for a whole statement.
 */
export function expiryNs({ ttl }: Perishable, nowNs: bigint): bigint | undefined {
  if (ttl === '' || ttl === 'forever') return undefined;
  if (ttl === 'instant') return END_OF_TIME;
  const lifeNs = ttlNs(ttl);
  return lifeNs === 0n ? undefined : nowNs - lifeNs;
}

/** Returns the length of life in nanoseconds; 0 forever, and for `instant`. */
export function lifetimeNs({ ttl }: Perishable): bigint {
  return ttl === 'forever' || ttl === 'instant' ? 0n : ttlNs(ttl);
}

/** Later than every time of a row; seconds have the widest range. */
const END_OF_TIME = (1n << 63n) * 1_000_000_000n;

/**
 * Returns the canonical text of a time to live: `7d` is `7days`, `1h 30m` stays, none is `forever`.
 *
 * @throws `invalid_arguments`.
 */
export function canonicalTtl(text: string): string {
  const given = text.trim();
  const word = given.toLowerCase();
  if (word === '' || word === 'forever') return 'forever';
  if (word === 'instant') return word;
  let rest = ttlNs(given);
  if (rest === 0n) return 'forever';
  const parts: string[] = [];
  for (const [name, ns, hasPlural] of PARTS) {
    const count = rest / ns;
    rest %= ns;
    if (count > 0n) parts.push(`${count}${name}${hasPlural && count > 1n ? 's' : ''}`);
  }
  return parts.join(' ');
}

function ttlNs(text: string): bigint {
  const part = /\s*(\d{1,12})\s*([a-zA-Z]+)\s*/gy;
  let total = 0n;
  let end = 0;
  for (let match = part.exec(text); match !== null; match = part.exec(text)) {
    const unit = (UNITS_NS[match[2]] ?? UNITS_NS[match[2].toLowerCase()]) as bigint | undefined;
    if (unit === undefined) break;
    total += BigInt(match[1]) * unit;
    end = part.lastIndex;
  }
  if (end !== text.length) {
    throw new AlmanacError(
      'invalid_arguments',
      `Invalid options: invalid ttl '${text.slice(0, 100)}', expected for example 7d, 1h 30m or forever`,
    );
  }
  return total;
}
