import type { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** A request that may or may not hold good lines. */
export interface HostileBody {
  readonly bytes: Buffer<ArrayBuffer>;
  /** The bytes as text; undefined if they are none. */
  readonly text: string | undefined;
  readonly route: string;
  readonly precision: string;
}

const PIECES = [
  'm',
  'cpu',
  ',',
  '=',
  ' ',
  '\n',
  '"',
  '\\',
  '1',
  'i',
  'u',
  '.',
  '-',
  'e',
  't',
  '#',
  '\r',
  '\t',
  '\0',
  'é',
];
const TIMES = [' 1', ' 2', ' 3', ' -1', ' 1.5', ' 9223372036854775807', ' 99999999999999999999', ' x', '  7 '];
const VALUES = [
  '1',
  '-2.5',
  '3i',
  '4u',
  't',
  'false',
  '"text"',
  '"a\\"b"',
  '"line\nbreak"',
  '1e400',
  'NaN',
  '',
  '1i5',
  '"x',
];
const ROUTES = ['/v1/lineproto/write', '/v1/lineproto/api/v2/write', '/v1/influxdb/write'];

/**
 * Bodies of the same seed are the same. Tables are named by body and kind of value, so that which rows are kept does not
 * depend on which request came first.
 */
export function hostileBody(random: SeededRandom, number: number): HostileBody {
  const route = pick(random, ROUTES);
  const precision = pick(random, ['ns', 'us', 'ms', 's']);
  if (random.below(20) === 0) {
    const bytes = Buffer.from(Array.from({ length: random.below(200) }, () => 128 + random.below(128)));
    return { bytes, text: bytes.length === 0 ? '' : undefined, route, precision };
  }
  const lines = Array.from({ length: random.below(6) }, () => line(random, number));
  const text = lines.join(pick(random, ['\n', '\n', '\r\n', '\n\n']));
  return { bytes: Buffer.from(text), text, route, precision };
}

function line(random: SeededRandom, number: number): string {
  if (random.below(4) === 0) {
    return (
      `#\n`.repeat(random.below(2)) + Array.from({ length: random.below(30) }, () => pick(random, PIECES)).join('')
    );
  }
  const tags = Array.from({ length: random.below(3) }, (_, i) => `,${pick(random, ['a', 'b', 'c d', 'e'])}${i}=x${i}`);
  const fields = Array.from({ length: 1 + random.below(3) }, (_, i) => {
    const value = pick(random, VALUES);
    return `f${i}${kindOf(value)}=${value}`;
  });
  // Few tables: making one takes a transaction.
  return `body${number % 40}${tags.join('')} ${fields.join(',')}${pick(random, TIMES)}`;
}

/** Makes fields of different types different fields. */
function kindOf(value: string): string {
  return value.startsWith('"') ? 's' : /^[tf]/.test(value) ? 'b' : (/^-?\d+([iu])$/.exec(value)?.[1] ?? 'd');
}

function pick<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)];
}
