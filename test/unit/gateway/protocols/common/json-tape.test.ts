import { expect } from 'chai';
import fc from 'fast-check';

import { isJsonObject, parseJson, stringifyJson, type JsonValue } from '#services/gateway/protocols/common/json';
import { JsonKind, JsonTape } from '#services/gateway/protocols/common/json-tape';

const KIND_NAMES = Object.fromEntries(Object.entries(JsonKind).map(([name, kind]) => [kind, name]));

/** A value of an object: its path, its kind and its text. */
type Leaf = readonly [path: string, kind: string, text: string];

function leavesOf(tape: JsonTape): Leaf[] {
  const leaves: Leaf[] = [];
  for (let i = 0; i < tape.count; i++) {
    const kind = KIND_NAMES[tape.kinds[i]];
    if (kind === 'replaced') continue;
    const isText = kind === 'text' || kind === 'escaped';
    const shown = kind === 'integer' ? String(tape.integer(i) ?? tape.number(i)) : tape.text(i);
    leaves.push([tape.members[i].name, isText ? 'text' : kind, kind === 'double' ? String(tape.number(i)) : shown]);
  }
  return leaves;
}

function read(bytes: Buffer, tape = new JsonTape({ level: 0 })): Leaf[] {
  expect(tape.read(bytes, 0, bytes.length)).to.be.at.most(bytes.length);
  return leavesOf(tape);
}

/** The same by `JSON.parse`. Numbers without fraction and exponent are integers. */
function expected(value: JsonValue, path = ''): Leaf[] {
  if (isJsonObject(value)) {
    const members = Object.entries(value);
    const own = members.flatMap(([key, inner]) => expected(inner, path === '' ? key : `${path}.${key}`));
    return members.length === 0 ? [[path, 'empty', '']] : own;
  }
  if (Array.isArray(value)) return [[path, 'list', stringifyJson(value)]];
  if (typeof value === 'string') return [[path, 'text', value]];
  if (value === null || typeof value === 'boolean') return [[path, String(value), String(value)]];
  return [[path, 'number', stringifyJson(value)]];
}

/** Kinds of numbers depend on their text, which `JSON.parse` does not tell. */
const withNumbers = (leaves: readonly Leaf[]): Leaf[] =>
  leaves.map(([path, kind, text]) => [path, kind === 'integer' || kind === 'double' ? 'number' : kind, text]);

const sorted = (leaves: readonly Leaf[]): Leaf[] => [...leaves].sort((a, b) => (a[0] < b[0] ? -1 : 1));

/** Objects with unique keys, and few levels, so that all members are distinguished. Keys without a dot make paths unique. */
const object = fc.object({
  key: fc.string({ unit: 'grapheme', minLength: 1 }).filter((key) => !key.includes('.')),
  maxDepth: 4,
  values: [
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
    fc.boolean(),
    fc.constant(null),
  ],
});

describe('JsonTape', () => {
  it('reads what JSON.parse reads', () => {
    const tape = new JsonTape({ level: 0 });
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const bytes = Buffer.from(JSON.stringify(value, undefined, space));
        const all = expected(parseJson(bytes));
        // Integers of a double beyond 64 bits have other digits in their text.
        expect(sorted(withNumbers(read(bytes, tape)))).to.deep.equal(sorted(all));
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses what JSON.parse refuses, and reads no other value from what it accepts', () => {
    const replacement = fc.constantFrom(...Array.from('{}[]",:\\u0019-.eEtfn \n\u0001é'));
    fc.assert(
      fc.property(
        object,
        fc.array(fc.tuple(fc.nat(), replacement), { minLength: 1, maxLength: 3 }),
        (value, changes) => {
          let text = JSON.stringify(value);
          for (const [at, character] of changes) {
            const position = at % text.length;
            text = text.slice(0, position) + character + text.slice(position + 1);
          }
          const bytes = Buffer.from(text);
          const tape = new JsonTape({ level: 0 });
          let end: number | undefined;
          try {
            end = tape.read(bytes, 0, bytes.length);
          } catch {
            end = undefined;
          }
          let parsed: JsonValue | undefined;
          try {
            parsed = parseJson(bytes);
          } catch {
            parsed = undefined;
          }
          const isWhole = end !== undefined && bytes.subarray(end).toString().trim() === '';
          const isObject = parsed !== undefined && isJsonObject(parsed);
          expect(isWhole, text).to.equal(isObject);
          if (parsed !== undefined && isObject) {
            expect(
              withNumbers(leavesOf(tape))
                .map(([, kind]) => kind)
                .sort(),
              text,
            ).to.deep.equal(
              expected(parsed)
                .map(([, kind]) => kind)
                .sort(),
            );
          }
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it('takes the last of several members with one name', () => {
    expect(read(Buffer.from('{"a":1,"b":{"c":{"d":1,"e":2}},"a":"x","b":{"c":{"d":3}},"\\u0061":true}'))).to.deep.equal(
      [
        ['b.c.d', 'integer', '3'],
        ['a', 'true', 'true'],
      ],
    );
    expect(read(Buffer.from('{"a":{"b":1},"a":2}'))).to.deep.equal([['a', 'integer', '2']]);
    expect(read(Buffer.from('{"a":2,"a":{"b":1}}'))).to.deep.equal([['a.b', 'integer', '1']]);
  });

  it('tells integers from fractions, and keeps 64 bits', () => {
    const text = '{"a":1,"b":1.0,"c":1e2,"d":9007199254740993,"e":-9223372036854775808,"f":9223372036854775808}';
    expect(read(Buffer.from(text))).to.deep.equal([
      ['a', 'integer', '1'],
      ['b', 'double', '1'],
      ['c', 'double', '100'],
      ['d', 'integer', '9007199254740993'],
      ['e', 'integer', '-9223372036854775808'],
      ['f', 'integer', '9223372036854776000'],
    ]);
  });

  it('keeps objects below the last level as JSON', () => {
    const depth = 12;
    const nested = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    const path = Array.from({ length: 11 }, () => 'a').join('.');
    expect(read(Buffer.from(nested))).to.deep.equal([[path, 'list', '{"a":1}']]);
  });

  const BAD: readonly (readonly [string, string | Buffer, string])[] = [
    ['nothing', '', 'JSON is not valid at byte 0'],
    ['a list', '[1]', 'JSON is not valid at byte 0'],
    ['a comma at the end', '{"a":1,}', 'JSON is not valid at byte 7'],
    ['a key without quotes', '{a:1}', 'JSON is not valid at byte 1'],
    ['a number with a zero first', '{"a":01}', 'JSON is not valid at byte 6'],
    ['a number without digits', '{"a":-}', 'JSON is not valid at byte 6'],
    ['half a surrogate escape', '{"a":"\\ud8"}', 'JSON is not valid at byte 6'],
    ['a line break in a text', '{"a":"\n"}', 'JSON is not valid at byte 6'],
    ['an unknown word', '{"a":nul}', 'JSON is not valid at byte 5'],
    ['a text without an end', '{"a":"b', 'JSON is not valid at byte 7'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'JSON is not valid UTF-8'],
    ['10,000 levels', `{"a":${'['.repeat(10_000)}`, 'JSON is not valid at byte 10005'],
    ['10,000 levels with an end', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 'JSON has more than 64 levels'],
    [
      '100,001 names',
      `{${Array.from({ length: 100_001 }, (_, i) => `"k${i}":1`).join(',')}}`,
      'request has more than 100000 names of members',
    ],
  ];
  for (const [what, text, message] of BAD) {
    it(`refuses ${what}`, () => {
      expect(() => read(Buffer.from(text as string))).to.throw(message);
    });
  }

  it('does not take a quote in a key that it knows for its end', () => {
    const tape = new JsonTape({ level: 0 });
    expect(read(Buffer.from('{"a\\"b":1}'), tape)).to.deep.equal([['a"b', 'integer', '1']]);
    expect(() => read(Buffer.from('{"a"b":1}'), tape)).to.throw('JSON is not valid at byte 4');
  });
});
