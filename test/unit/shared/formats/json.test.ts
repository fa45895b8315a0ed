import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';

import { QueryConnection } from '#shared/duckdb/query-connection';
import { jsonFormat } from '#shared/formats/json';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

function textOf(rows: string | Uint8Array): string {
  return typeof rows === 'string' ? rows : Buffer.from(rows).toString();
}

describe('json format', () => {
  let instance: DuckDBInstance;
  let connection: QueryConnection;
  before(async () => {
    instance = await DuckDBInstance.create(':memory:');
    connection = new QueryConnection(await instance.connect());
  });
  after(() => {
    connection.close();
    instance.closeSync();
  });

  const signal = new AbortController().signal;

  /** Text of one value as it is encoded here, and as the engine folds it; undefined where it does not. */
  const both = async (expression: string): Promise<{ here: string; engine: string | undefined }> => {
    const result = await connection.run(`SELECT ${expression} AS v`, signal);
    let here = '';
    for (const block of result.blocks()) {
      here += textOf(jsonFormat.encodeRows(result.columns, [block.cells(0)], block.rowCount));
    }
    const rowSql = jsonFormat.rowSql(result.columns, ['v']);
    if (rowSql === undefined) return { here, engine: undefined };
    const folded = await connection.run(`SELECT ${rowSql} FROM (SELECT ${expression} AS v)`, signal);
    let engine = '';
    for (const block of folded.blocks()) engine += block.cells(0)[0] as string;
    return { here, engine };
  };

  const writes = (expression: string, text: string): void => {
    it(`writes ${expression} as ${text}`, async () => {
      expect(await both(expression)).to.deep.equal({ here: `[${text}]`, engine: `[${text}]` });
    });
  };
  /** Floats may differ in text, not in value; both have a point or an exponent. */
  const writesFloat = (expression: string, value: number): void => {
    it(`writes ${expression} so that it reads back equal`, async () => {
      const { here, engine = '' } = await both(expression);
      for (const text of [here, engine]) {
        expect(Object.is((JSON.parse(text) as number[])[0], value), text).to.equal(true);
        expect(text).to.match(/[.e]/);
      }
    });
  };
  const writesHere = (expression: string, text: string): void => {
    it(`writes ${expression} as ${text}, never in the engine`, async () => {
      expect(await both(expression)).to.deep.equal({ here: `[${text}]`, engine: undefined });
    });
  };

  writes('NULL::INTEGER', 'null');
  writes('true', 'true');
  writes('9223372036854775807', '9223372036854775807');
  writes('18446744073709551615::UBIGINT', '18446744073709551615');
  writes('(-128)::TINYINT', '-128');
  writes('sum(9223372036854775807) OVER ()', '9223372036854775807');
  writes("DATE '1969-12-31'", '-1');
  writes('make_timestamp_ns(1700000000123456789)', '1700000000123456789');
  writes('make_timestamp_ns(-1)', '-1');
  writes('make_timestamp(-1500)', '-1500');
  writes('make_timestamp_ms(-1)::TIMESTAMP_MS', '-1');
  writes("TIMESTAMP_S '1969-12-31 23:59:59'", '-1');
  writes("'a\"b\\c' || chr(10) || chr(1) || 'ü😀'", '"a\\"b\\\\c\\n\\u0001ü😀"');
  writes("''", '""');
  writes('1.10::DECIMAL(5, 2)', '"1.10"');
  writes('NULL::DECIMAL(5, 2)', 'null');
  writes('NULL::DOUBLE', 'null');
  writes("'nan'::DOUBLE", 'null');
  writes("'-inf'::FLOAT", 'null');
  for (const value of [
    0,
    -0,
    1,
    1024,
    66.6,
    1e16,
    1.5e-6,
    5e-324,
    1.7976931348623157e308,
    0.1 + 0.2,
    123456789012345680,
    -1e21,
  ]) {
    writesFloat(`'${Object.is(value, -0) ? '-0.0' : value}'::DOUBLE`, value);
  }
  writes('1.99::FLOAT', '1.99');
  writes('0.1::FLOAT', '0.1');
  writesHere("from_hex('00ff')", '[0,255]');
  writesHere('[1, NULL, 3]', '[1,null,3]');
  writesHere("{'a': 1.5, 'b': NULL::VARCHAR, 'c': ['x']}", '{"a":"1.5","b":null,"c":["x"]}');
  writesHere("MAP {'k': 1}", '{"k":1}');
  writesHere('MAP {1: true}', '{"1":true}');
  writesHere(
    "INTERVAL '14 months 3 days 4 hours 5 minutes 6.0001 seconds'",
    '"14 mons 3 days 4 hours 5 mins 6.000100 secs"',
  );
  writesHere("INTERVAL '0 days'", '"0.000000 secs"');
  writesHere("INTERVAL '-90 seconds'", '"-1 mins -30.000000 secs"');

  it('separates rows by commas', () => {
    const columns = [
      { name: 'a', type: { name: 'Int64', kind: 'int' as const } },
      { name: 'b', type: { name: 'Json', kind: 'json' as const } },
    ];
    const cells = [
      [1n, null],
      ['{"x":1}', null],
    ];
    expect(textOf(jsonFormat.encodeRows(columns, cells, 2))).to.equal('[1,{"x":1}],[null,null]');
  });

  it('leaves nothing of rows that fail', () => {
    const columns = [{ name: 'a', type: { name: 'Decimal', kind: 'decimal' as const } }];
    expect(() => jsonFormat.encodeRows(columns, [['1.0', undefined as unknown as string]], 2)).to.throw(TypeError);
    expect(textOf(jsonFormat.encodeRows(columns, [['2.0']], 1))).to.equal('["2.0"]');
  });

  it('writes floats in the shortest text that reads back equal', () => {
    const random = new SeededRandom(1);
    const values: number[] = [0, 0.1 + 0.2, 1e15, 1e15 + 0.5, 2 ** 53, 1e-3, 1e-6, 4.35, 1.005, 2 ** -20];
    for (let i = 0; i < 20_000; i++) {
      const digits = 10 ** random.below(16);
      values.push(Math.round(random.fraction() * digits) / 10 ** random.below(7), random.fraction() * digits);
    }
    const columns = [{ name: 'x', type: { name: 'Float64', kind: 'float64' as const } }];
    for (const value of values.flatMap((each) => [each, -each])) {
      const text = Object.is(value, -0) ? '-0' : String(value);
      const expected = /[.e]/.test(text) ? text : `${text}.0`;
      expect(textOf(jsonFormat.encodeRows(columns, [[value]], 1))).to.equal(`[${expected}]`);
    }
  });
});
