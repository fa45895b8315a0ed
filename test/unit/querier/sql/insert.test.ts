import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('INSERT and REPLACE', () => {
  let bench: SqlBench;
  beforeEach(async () => {
    bench = await SqlBench.open();
  });
  afterEach(() => bench.close());

  const fails = async (text: string, number: number, message: string | RegExp): Promise<void> => {
    const error = await bench.error(text);
    expect(error.number, error.message).to.equal(number);
    if (typeof message === 'string') expect(error.message).to.equal(message);
    else expect(error.message).to.match(message);
  };

  describe('INSERT', () => {
    beforeEach(() =>
      bench.all(
        `CREATE TABLE t (host STRING, n INT, u BIGINT UNSIGNED, f DOUBLE DEFAULT 1.5, ok BOOLEAN, d DECIMAL(10,2), j JSON, b BINARY, day DATE, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (host))`,
      ),
    );
    it('stores literals of all types', async () => {
      expect(
        (
          await bench.query(`INSERT INTO t VALUES
        ('a', -5, 18446744073709551615, 2, true, 1.005, '{"a": [1, 2.50], "b c": "x  y"}', X'00ff', '2024-02-29', '2024-01-01 00:00:00.5'),
        ("b", 1, 0, 'NaN', FALSE, '-7', NULL, 'hi', NULL, 5,),
        ('c', NULL, NULL, DEFAULT, NULL, NULL, NULL, NULL, NULL, now())`)
        ).affected,
      ).to.equal(3);
      const answer = await bench.query('SELECT * FROM t ORDER BY host');
      expect(answer.text).to.equal(
        '[["a",-5,18446744073709551615,2.0,true,"1.01",{"a":[1,2.50],"b c":"x  y"},[0,255],19782,1704067200500],' +
          '["b",1,0,null,false,"-7.00",null,[104,105],null,5],["c",null,null,1.5,null,null,null,null,null,1700000000123]]',
      );
      expect(answer.columns.map((column) => column.type)).to.deep.equal([
        'String',
        'Int32',
        'UInt64',
        'Float64',
        'Boolean',
        'Decimal(10, 2)',
        'Json',
        'Binary',
        'Date',
        'TimestampMillisecond',
      ]);
    });
    it('computes expressions', async () => {
      await bench.all(
        `INSERT INTO t (host, n, f, ts, j) VALUES (upper('x') || 'y', 2 * 3, sqrt(16), now() - INTERVAL '1 second', parse_json('{ "a" : 1 }')), ('z', CAST('7' AS INT), 1, '1970-01-01T00:00:01Z'::TIMESTAMP, NULL)`,
      );
      expect(await bench.rows('SELECT host, n, f, ts, j FROM t ORDER BY host')).to.deep.equal([
        ['Xy', 6, 4, 1699999999123, { a: 1 }],
        ['z', 7, 1, 1000, null],
      ]);
    });
    it("fills defaults and uses the session's time zone", async () => {
      await bench.all(
        `SET time_zone = 'Asia/Shanghai'; INSERT INTO t (ts, host) VALUES ('2024-01-01 08:00:00', 'a'), ('2024-01-01 08:00:00Z', 'b')`,
      );
      expect(await bench.rows('SELECT f, ts FROM t ORDER BY host')).to.deep.equal([
        [1.5, 1704067200000],
        [1.5, 1704096000000],
      ]);
    });
    it('stores the rows of a query', async () => {
      await bench.all(`INSERT INTO t (host, n, ts) VALUES ('a', 1, 1000), ('b', 2, 2000)`);
      expect(
        (
          await bench.query(
            `INSERT INTO t (host, n, f, ts) SELECT host || '2', n * 10, n, ts + INTERVAL '1 second' FROM t`,
          )
        ).affected,
      ).to.equal(2);
      expect(await bench.rows('SELECT host, n, f, ts FROM t WHERE n >= 10 ORDER BY n')).to.deep.equal([
        ['a2', 10, 1, 2000],
        ['b2', 20, 2, 3000],
      ]);
      expect(
        (await bench.query(`REPLACE INTO t (host, ts) (SELECT 'c', 7 UNION ALL SELECT 'd', 8)`)).affected,
      ).to.equal(2);
      await fails(
        `INSERT INTO t (host, ts) SELECT 'c'`,
        3000,
        "Failed to plan SQL: Column count doesn't match insert query!",
      );
    });
    it('stores numbers and times of a query as they are, within the range of their column', async () => {
      await bench.all(
        'CREATE TABLE v (id INT, f FLOAT, d DOUBLE, t TINYINT, n BIGINT, c DECIMAL(10,2), m TIMESTAMP(6), ts TIMESTAMP(3) TIME INDEX)',
      );
      for (const values of [
        `1, '-0.0'::DOUBLE, '-0.0'::DOUBLE, -0.5::DOUBLE, 9007199254740993, '-0.0'::DOUBLE, '2024-01-01'::TIMESTAMP, 1`,
        `2, 0.1::DOUBLE, 'NaN'::DOUBLE, 127.9::DOUBLE, 9.2e18::DOUBLE, 12345678, '1969-12-31 23:59:59.999999'::TIMESTAMP(6), 2`,
        `3, 1e300::DOUBLE, '-Infinity'::DOUBLE, -128, '-9223372036854775808'::BIGINT, 1.005::DOUBLE, NULL, 3`,
      ]) {
        await bench.all(`INSERT INTO v SELECT ${values}`);
      }
      expect(await bench.rows('SELECT t, n = 9007199254740993, c FROM v WHERE id = 1')).to.deep.equal([
        [0, true, '0.00'],
      ]);
      expect(await bench.rows('SELECT f, isnan(d), t, n::STRING, c, m FROM v WHERE id = 2')).to.deep.equal([
        [0.1, true, 127, '9200000000000000000', '12345678.00', -1],
      ]);
      expect(
        await bench.rows('SELECT isinf(f), isinf(d) AND d < 0, t, n::STRING, c FROM v WHERE id = 3'),
      ).to.deep.equal([[true, true, -128, '-9223372036854775808', '1.01']]);
      for (const [columns, values, message] of [
        ['t', '128', /^Failed to parse value: 128 is out of the range of Int8, column: t$/],
        ['t', '-129.5::DOUBLE', /^Failed to parse value: -129 is out of the range of Int8, column: t$/],
        ['n', '1e19::DOUBLE', /^Failed to parse value: 10000000000000000000 is out of the range of Int64, column: n$/],
        ['t', "'NaN'::DOUBLE", /^Fail to parse number NaN, invalid column type: Int8, column: t$/],
        [
          'm',
          'make_timestamp(9000000000000000000)',
          /^Failed to parse value: timestamp is out of the range of Timestamp/,
        ],
      ] as const) {
        await fails(`INSERT INTO v (${columns}, ts) SELECT ${values}, 4`, 2000, message);
      }
    });
    it('stores many rows quickly', async () => {
      const tuples = Array.from({ length: 20_000 }, (_, i) => `('host_${i}', ${i}, ${i})`).join(', ');
      expect((await bench.query(`INSERT INTO t (host, n, ts) VALUES ${tuples}`)).affected).to.equal(20_000);
      expect(await bench.rows('SELECT count(*), sum(n) FROM t')).to.deep.equal([[20_000, 199_990_000]]);
    });
    const refuses = (title: string, text: string, number: number, message: string | RegExp): void => {
      it(`refuses ${title}, and stores nothing`, async () => {
        await fails(text, number, message);
        expect(await bench.rows('SELECT count(*) FROM t')).to.deep.equal([[0]]);
      });
    };
    refuses(
      'too few values',
      "INSERT INTO t (host, n, ts) VALUES ('a', 1, 1), ('a')",
      1004,
      'Invalid SQL, error: column count mismatch, columns: 3, values: 1',
    );
    refuses(
      'too many values',
      'INSERT INTO t (ts) VALUES (1), (1, 2)',
      1004,
      'Invalid SQL, error: column count mismatch, columns: 1, values: 2',
    );
    refuses(
      'no time',
      "INSERT INTO t (host) VALUES ('a')",
      1004,
      'No valid default value can be built automatically, column: ts',
    );
    refuses('NULL for a time', 'INSERT INTO t (ts) VALUES (NULL)', 1004, 'column ts is not null but input has null');
    refuses(
      'a number for a text',
      'INSERT INTO t (host, ts) VALUES (3, 1)',
      2000,
      /^Fail to parse number 3, invalid column type/,
    );
    refuses('a text for a number', "INSERT INTO t (n, ts) VALUES ('x', 1)", 2000, /^Failed to parse value: /);
    refuses(
      'a number beyond its type',
      'INSERT INTO t (ts, n) VALUES (1, 1), (2, 3000000000)',
      2000,
      /out of the range of Int32/,
    );
    refuses('a negative unsigned', 'INSERT INTO t (u, ts) VALUES (-1, 1)', 2000, /out of the range of UInt64/);
    refuses(
      'a text that is no time',
      "INSERT INTO t (ts) VALUES ('1900-1-1 59:59:23')",
      2000,
      'Failed to parse value: Failed to parse 1900-1-1 59:59:23 to Timestamp value, column: ts',
    );
    refuses(
      'a text that is no date',
      "INSERT INTO t (day, ts) VALUES ('tomorrow', 1)",
      2000,
      'Failed to parse value: Failed to parse tomorrow to Date value, column: day',
    );
    refuses('a text that is no JSON', "INSERT INTO t (j, ts) VALUES ('{a}', 1)", 1004, 'Invalid json text: {a}');
    refuses(
      'a decimal beyond its precision',
      'INSERT INTO t (d, ts) VALUES (123456789.5, 1)',
      2000,
      /^Failed to parse value: /,
    );
    refuses(
      'an unknown column',
      'INSERT INTO t (nope, ts) VALUES (1, 1)',
      4002,
      'Column not found in table, column: nope, table: t',
    );
    refuses('a missing table', 'INSERT INTO nope VALUES (1)', 4001, 'Table not found: almanac.public.nope');
    refuses(
      'a computed value that fails',
      `INSERT INTO t (n, ts) VALUES (1, 1), (CAST('x' AS INT), 2)`,
      3001,
      /Could not convert string 'x' to INT32/,
    );
    it('accepts a computed value with commas in any brackets', async () => {
      await bench.all(`INSERT INTO t (ts, n) VALUES (1, {'a': 1, 'b': 2}['b']), (2, [3, 4][1]), (3, greatest(5, 6))`);
      expect(await bench.rows('SELECT n FROM t ORDER BY ts')).to.deep.equal([[2], [3], [6]]);
    });
    const stopsAll = (title: string, malformed: string, message: RegExp): void => {
      it(`reads its values before the statements in front of it run: ${title}`, async () => {
        const error = await bench.error(`INSERT INTO t (ts) VALUES (1); INSERT INTO t (host, ts) VALUES ${malformed}`);
        expect(error.number, error.message).to.equal(2000);
        expect(error.message).to.match(message);
        expect(error.details).to.include({ statement_index: '1' });
        expect(await bench.rows('SELECT count(*) FROM t')).to.deep.equal([[0]]);
      });
    };
    stopsAll('an open tuple', "('x'", /expected: ', or \)', found: EOF/);
    stopsAll('no tuple', '', /expected: '\(', found: EOF/);
    stopsAll('a missing value', "('x', 1), (, 2)", /expected: 'a value', found: ,/);
    stopsAll('text after the tuples', "('x', 1) 'y'", /expected: 'end of statement', found: 'y'/);
    stopsAll('half an expression', "('x', 1), ('y', 2 *)", /syntax error/);
    it('limits the computed values before the statements in front of it run', async () => {
      const tuples = Array.from({ length: 20_001 }, (_, i) => `(1 + ${i})`).join(', ');
      const error = await bench.error(`INSERT INTO t (ts) VALUES (1); INSERT INTO t (ts) VALUES ${tuples}`);
      expect(error.message).to.equal('too many computed values in one INSERT, the limit is 20000');
      expect(await bench.rows('SELECT count(*) FROM t')).to.deep.equal([[0]]);
    });
  });
});
