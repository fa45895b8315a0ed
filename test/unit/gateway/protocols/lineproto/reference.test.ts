import { expect } from 'chai';
import fc from 'fast-check';

import { LineDecoder } from '#services/gateway/protocols/lineproto/decode';
import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { LineCache } from '#services/gateway/protocols/lineproto/line-cache';
import type { Precision } from '#services/gateway/protocols/lineproto/timestamp';
import { BatchSet } from '#shared/rowbatch/builder';
import { BuilderPool } from '#shared/rowbatch/builder-pool';
import { rowsOf, type PlainRow } from '#test/support/batch-rows';
import { referenceLineproto } from '#test/support/reference-lineproto';

const NOW_NS = 1_700_000_000_123_456_789n;
const RUNS = 2_000;

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const name = pick('m', 'cpu', 'a b', 'a\\ b', 'x\\,y', 'e\\=f', 'tag', 'é', 'q"q', '\\\\', 'b\\', 'v', '__sid', '\t');
const tag = fc.tuple(name, pick('=', '=', '=', '=', '', '=='), name).map((parts) => parts.join(''));
const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: false }).map(String),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  pick(
    '1.',
    '.5',
    '-.5',
    '.',
    '-',
    '-0',
    '0',
    '1e5',
    '1E+5',
    '1e',
    'e5',
    '1e5.5',
    '1.2.3',
    '1e400',
    '00012',
    '+1',
    '0x1f',
  ),
);
const text = fc.array(pick('a', 'ü', ' ', ',', '=', '\n', '\\"', '\\\\', '\\n', '\\', '"', '\r'), { maxLength: 6 });
const value = fc.oneof(
  number,
  number.map((digits) => `${digits}i`),
  number.map((digits) => `${digits}u`),
  text.map((parts) => `"${parts.join('')}"`),
  pick('t', 'F', 'true', 'False', 'TRUE', 'tru', 'NaN', 'inf', '', 'x', '1i5', '-1u', '"open', '"a"b'),
);
const field = fc.tuple(name, pick('=', '=', '=', '=', '=', ''), value).map((parts) => parts.join(''));
const time = fc.oneof(
  pick('', ' ', ' 1', ' 1700000000000000000', ' 1700000000000000000', '  17 ', ' -5', ' -', ' 1 2', ' 1.5', ' 1e3'),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map((digits) => ` ${digits}`),
  pick(' 9223372036854775806', ' 9223372036854775807', ' -9223372036854775806', ' -9223372036854775807', ' 000012'),
);
const line = fc
  .tuple(
    name,
    fc.array(tag, { maxLength: 3 }),
    pick(' ', ' ', ' ', '  ', '\t', ''),
    fc.array(field, { maxLength: 3 }),
    time,
  )
  .map(([measurement, tags, gap, fields, end]) => `${[measurement, ...tags].join(',')}${gap}${fields.join(',')}${end}`);
/** Lines that repeat each other, as real ones do. */
const plainLine = fc
  .tuple(
    pick('cpu', 'cpu,host=a', 'cpu,host=b,dc=x', 'mem,host=a'),
    fc.subarray(['v=1i', 'w=2.5', 's="x y"', 'b=t', 'v=2']),
    time,
  )
  .map(([key, fields, end]) => `${key} ${fields.join(',')}${end}`);
const joint = pick('\n', '\n', '\n', '\r\n', '\n\n', '\n \n', '\n# comment, x="\n', '\\\n', '');
const body = fc
  .array(fc.tuple(fc.oneof(line, plainLine, plainLine), joint), { maxLength: 12 })
  .map((lines) => lines.map((parts) => parts.join('')).join(''));
const mutated = fc
  .tuple(
    body,
    fc.array(fc.tuple(fc.nat(), pick('\\', '"', ',', '=', ' ', '\n', '\r', '#', '\0', 'i', '-', '')), { maxLength: 4 }),
  )
  .map(([original, changes]) =>
    changes.reduce((current, [at, change]) => {
      const place = current.length === 0 ? 0 : at % current.length;
      return current.slice(0, place) + change + current.slice(place + 1);
    }, original),
  );
const random = fc
  .array(pick(...'m,= \\"\n\r\t#1i.-et\0é'.split(/(?:)/u)), { maxLength: 60 })
  .map((parts) => parts.join(''));
const anyBody = fc.oneof({ weight: 3, arbitrary: body }, { weight: 3, arbitrary: mutated }, random, fc.string());

/** In an order that does not depend on tables, so that both readers can be compared. */
function sorted(rows: readonly PlainRow[]): string[] {
  return rows.map(print).sort();
}

function print({ table, tags, fields, timeNs }: PlainRow): string {
  const entries = Object.entries(fields).map(
    ([key, [type, cell]]) => `${key}:${type}:${typeof cell}:${cellText(cell)}`,
  );
  return JSON.stringify([table, Object.entries(tags).sort(), entries.sort(), String(timeNs)]);
}

function cellText(cell: number | bigint | boolean | string): string {
  return Object.is(cell, -0) ? '-0' : String(cell);
}

function decode(
  bytes: Buffer,
  precision: Precision,
  cache: LineCache,
  sliceBytes: number,
): { rows: string[]; rejected: readonly string[]; conflictCount: number } {
  const batches = new BatchSet(new BuilderPool(1_000_000));
  const decoder = new LineDecoder(bytes, { precision, nowNs: NOW_NS }, cache, batches);
  while (!decoder.decode(sliceBytes)) continue;
  const rows = sorted(rowsOf(batches));
  const conflictCount = decoder.rejected.conflicts.reduce((sum, { rowCount }) => sum + rowCount, 0);
  batches.release();
  return { rows, rejected: decoder.rejected.texts, conflictCount };
}

describe('line protocol against the plain reader', () => {
  it(`accepts and rejects the same lines for the same reasons in ${RUNS} bodies`, () => {
    const cache = new LineCache(new CacheMemory(20_000)); // small: it is emptied many times during the run
    const precision = pick<Precision>('ns', 'ns', 'us', 'ms', 's', 'm', 'h');
    const sliceBytes = pick(1, 17, 1_000_000);
    fc.assert(
      fc.property(anyBody, precision, sliceBytes, (input, unit, slice) => {
        const bytes = Buffer.from(input);
        const expected = referenceLineproto(bytes.toString(), unit, NOW_NS);
        // Twice: the second time everything is known.
        for (const round of [1, 2]) {
          const actual = decode(bytes, unit, cache, slice);
          expect(actual.rows, `rows, round ${round}`).to.deep.equal(sorted(expected.rows));
          expect(actual.rejected).to.deep.equal(expected.rejected);
          expect(actual.conflictCount).to.equal(expected.conflictCount);
        }
      }),
      { numRuns: RUNS, seed: 20_261_101 },
    );
  }).timeout(60_000);
});
