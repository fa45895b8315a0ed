import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('SELECT', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
    await bench.all(`
      CREATE TABLE cpu (host STRING, region STRING, usage_user DOUBLE, n BIGINT, ts TIMESTAMP(9) TIME INDEX, PRIMARY KEY (host, region));
      INSERT INTO cpu VALUES ('a', 'eu', 1.5, 1, 1700000000123456789), ('a', 'eu', 2.5, 2, 1700000060123456789), ('b', 'us', 3.5, NULL, 1700000060000000001);
      CREATE TABLE ms (v INT, ts TIMESTAMP TIME INDEX);
      INSERT INTO ms VALUES (1, 1700000000123), (2, '2023-11-14 22:14:20.123'), (3, '2023-11-15T06:15:20+08:00');
      CREATE DATABASE other; USE other;
      CREATE TABLE cpu (x INT, ts TIMESTAMP(0) TIME INDEX);
      INSERT INTO cpu VALUES (7, 1700000000)`);
  });
  after(() => bench.close());

  const gives = (title: string, text: string, rows: unknown[][], types?: string[]): void => {
    it(title, async () => {
      const answer = await bench.query(text);
      expect(answer.rows).to.deep.equal(rows);
      if (types !== undefined) expect(answer.columns.map((column) => column.type)).to.deep.equal(types);
    });
  };
  const names = (text: string, expected: string[]): void => {
    it(`names ${expected.join(' | ')}`, async () => {
      expect((await bench.query(text)).columns.map((column) => column.name)).to.deep.equal(expected);
    });
  };
  const fails = (title: string, text: string, number: number, message: string | RegExp): void => {
    it(title, async () => {
      const error = await bench.error(text);
      expect(error.number, error.message).to.equal(number);
      if (typeof message === 'string') expect(error.message).to.equal(message);
      else expect(error.message).to.match(message);
    });
  };

  describe('values and types', () => {
    gives(
      'reads literals',
      `SELECT 1, 2.5, 'it''s', NULL, TRUE, X'68ff', 0x68ff, E'a\\nb', -9223372036854775808`,
      [[1, 2.5, "it's", null, true, [104, 255], [104, 255], 'a\nb', -9223372036854775808]],
      ['Int64', 'Float64', 'String', 'Null', 'Boolean', 'Binary', 'Binary', 'String', 'Int64'].map((t) =>
        t === 'Null' ? 'Int32' : t,
      ),
    );
    gives(
      'reads integers beyond Int64 as UInt64, and beyond that as doubles',
      'SELECT 9223372036854775808, 18446744073709551615, 18446744073709551616, -9223372036854775809',
      [[2 ** 63, 2 ** 64, 2 ** 64, -(2 ** 63)]],
      ['UInt64', 'UInt64', 'Float64', 'Float64'],
    );
    gives(
      'keeps all digits of integers beyond Int64',
      'SELECT a::STRING, b::STRING, x::STRING FROM (SELECT 18446744073709551615 - 1 AS a, ' +
        'greatest(18446744073709551615, 1) AS b, x FROM (VALUES (9223372036854775809)) AS v(x))',
      [['18446744073709551614', '18446744073709551615', '9223372036854775809']],
    );
    gives(
      'adds and multiplies small integers and those beyond Int64',
      'SELECT (0 - 9223372036854775808)::STRING, (1 - 18446744073709551615)::STRING, (2 * 9223372036854775808)::STRING',
      [['-9223372036854775808', '-18446744073709551614', '18446744073709551616']],
    );
    gives(
      'reads zeros before the digits of an integer',
      `SELECT ${'0'.repeat(70)}7 / ${'0'.repeat(70)}2`,
      [[3]],
      ['Int64'],
    );
    gives(
      'compares times with numbers beyond all times',
      'SELECT count(*) FROM cpu WHERE ts < 18446744073709551615 AND ts < 1e400 AND ts > -1e400 AND ts BETWEEN -99999999999999999999 AND 99999999999999999999',
      [[3]],
    );
    gives(
      'computes in 64 bits',
      'SELECT 2147483647 + 1, 3000000000 * 2',
      [[2147483648, 6000000000]],
      ['Int64', 'Int64'],
    );
    gives(
      'names the members of a tuple',
      "SELECT (2, 'a'), (1, 2) = (1, 2), (1, 2) IN ((1, 3), (1, 2)), (1, 2) IN (SELECT 1, 2)",
      [[{ c0: 2, c1: 'a' }, true, true, true]],
    );
    fails(
      'rejects a struct without names of members',
      "SELECT list_zip([1], ['a'])",
      1001,
      'Not supported: a result with a struct whose members have no names',
    );
    fails('rejects what is nested too deeply', `SELECT ${'+ '.repeat(990)} 1`, 2000, /nested (too deeply|deeper)/);
    fails('rejects a long text that is no query', `('${'ü'.repeat(70_000)}')`, 2000, /^Invalid SQL syntax: /);
    gives(
      'computes in 64 bits with literals in functions',
      `SELECT coalesce(NULL, 5) * 1000000000, greatest(2000000000, 1) + 2000000000, least(3, 2000000000) * 1000000000,
         CASE WHEN n > 0 THEN 3000000 ELSE 0 END * 1000, nullif(2000000000, 1) * 2 FROM cpu WHERE n = 1`,
      [[5000000000, 4000000000, 3000000000, 3000000000, 4000000000]],
    );
    gives('divides integers', 'SELECT 7/2, -7/2, 7 % 4, 7.0/2', [[3, -3, 3, 3.5]]);
    gives(
      'divides columns by their types',
      'SELECT n / 2, usage_user / 2, n / usage_user, sum(n) / count(*) FROM cpu WHERE n = 1 GROUP BY ALL',
      [[0, 0.75, 1 / 1.5, 1]],
    );
    gives('divides floats by zero', 'SELECT count(*) FROM cpu WHERE usage_user / 0.0 > 1e300', [[3]]);
    fails('a division of integers by zero', 'SELECT 1 / 0', 3001, 'Divide by zero error');
    fails(
      'a division of integers by a zero in a column',
      'SELECT n / (n - 1) FROM cpu WHERE n = 1',
      3001,
      'Divide by zero error',
    );
    fails('a modulo by zero', 'SELECT n % 0 FROM cpu', 3001, 'Divide by zero error');
    gives(
      'sums integers',
      'SELECT sum(n), avg(n), count(*), count(n), max(usage_user) FROM cpu',
      [[3, 1.5, 3, 2, 3.5]],
      ['Int64', 'Float64', 'Int64', 'Int64', 'Float64'],
    );
    gives('takes binary operators on negative literals', 'SELECT 5 -3, 5 - -3, -3 + 5, 2*-3', [[2, 8, 2, -6]]);
    gives(
      'reads types of the dialect',
      `SELECT '5'::INT64, 1.25::FLOAT32, CAST('7' AS UINT8), '1'::STRING, 1.005::DECIMAL(10,2)`,
      [[5, 1.25, 7, '1', '1.00']],
      ['Int64', 'Float32', 'UInt8', 'String', 'Decimal(10, 2)'],
    );
    gives(
      'gives lists, structs and intervals',
      `SELECT [1, NULL], {'a': 1, 'b': 'x'}, INTERVAL '14 months 3 days 4 hours', MAP {'k': 2.5}`,
      [[[1, null], { a: 1, b: 'x' }, '14 mons 3 days 4 hours', { k: 2.5 }]],
    );
    gives('puts nulls last ascending and first descending', 'SELECT n FROM cpu ORDER BY n', [[1], [2], [null]]);
    gives('puts nulls first descending', 'SELECT n FROM cpu ORDER BY n DESC', [[null], [2], [1]]);
    gives('limits as MySQL does', 'SELECT n FROM cpu ORDER BY n LIMIT 1, 1', [[2]]);
    gives(
      'has all numbers that it can without a limit',
      'SELECT count(*) FROM (SELECT number FROM numbers LIMIT 18446744073709551615 OFFSET 1)',
      [[99_999_999]],
    );
    for (const count of ['18446744073709551615', '9223372036854775807', '9'.repeat(100)]) {
      gives(`takes ${count} for no limit`, `SELECT n FROM cpu ORDER BY n LIMIT ${count} OFFSET 1`, [[2], [null]]);
      gives(`takes ${count} after a comma for no limit`, `SELECT n FROM cpu ORDER BY n LIMIT 2, ${count}`, [[null]]);
    }
    gives(
      'matches regular expressions',
      `SELECT 'abc' ~ 'b', 'abc' ~ '^b', 'abc' !~ 'b', 'ABC' ~* 'b', 'ABC' !~* 'z', 'abc' SIMILAR TO 'a.*'`,
      [[true, false, false, true, true, true]],
    );
  });

  describe('names', () => {
    names('SELECT approx_percentile_cont(0.9) WITHIN GROUP (ORDER BY n), max(n) FROM cpu GROUP BY host', [
      'approx_percentile_cont(0.9) within group (order by n)',
      'max(n)',
    ]);
    names('SELECT max(n) IS NOT DISTINCT FROM 5, max(n) FROM cpu', ['max(n) is not distinct from 5', 'max(n)']);
    names('WITH x AS (SELECT 1 AS a), y AS (SELECT 2) SELECT count(*), 1 + 1 FROM x', ['count(*)', '1 + 1']);
    names('SELECT count(*), MAX(usage_user), host, 1+ 1, n AS N, usage_user u FROM cpu GROUP BY ALL', [
      'count(*)',
      'max(usage_user)',
      'host',
      '1+ 1',
      'n',
      'u',
    ]);
    names(`SELECT date_trunc('minute', ts), "host" AS "My Host" FROM cpu`, [`date_trunc('minute', ts)`, 'My Host']);
    gives(
      'resolves qualified names',
      'SELECT public.cpu.host, cpu.n, almanac.public.cpu.usage_user FROM public.cpu ORDER BY ts LIMIT 1',
      [['a', 1, 1.5]],
    );
    gives('reads another database', 'SELECT x, ts FROM other.cpu', [[7, 1700000000]], ['Int32', 'TimestampSecond']);
    gives('keeps aliases', 'SELECT c.x FROM greptime.other.cpu AS c', [[7]]);
    gives('folds unquoted names', "SELECT HOST FROM CPU WHERE Host = 'b'", [['b']]);
    gives('takes backticks', 'SELECT `host` FROM `cpu` WHERE `n` = 2', [['a']]);
    gives('joins tables of the same name', 'SELECT count(*) FROM cpu JOIN other.cpu AS o ON o.ts < cpu.ts', [[3]]);
    gives(
      'reads recursive CTEs',
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT n.i + 1 FROM n WHERE i < 3) SELECT n.i FROM n ORDER BY 1',
      [[1], [2], [3]],
    );
    gives(
      'lets a CTE use a table and an outer CTE of its own name',
      'WITH x AS (SELECT 1 AS a), y AS (WITH x AS (SELECT a + 1 AS a FROM x) SELECT a FROM x) SELECT y.a, x.a FROM y, x',
      [[2, 1]],
    );
    gives('reads CTEs before tables', 'WITH cpu AS (SELECT 5 AS five) SELECT five FROM cpu', [[5]]);
    gives(
      'reads nested queries',
      'SELECT m FROM (SELECT host, max(n) AS m FROM cpu GROUP BY host) WHERE host IN (SELECT host FROM cpu WHERE n = 2)',
      [[2]],
    );
    fails('a missing table', 'SELECT * FROM nope', 4001, 'Failed to plan SQL: Table not found: almanac.public.nope');
    fails(
      'a quoted table in another case',
      'SELECT * FROM "CPU"',
      4001,
      'Failed to plan SQL: Table not found: almanac.public.CPU, did you mean "cpu"?',
    );
    fails(
      'a missing column',
      'SELECT nope FROM ms',
      3000,
      'Failed to plan SQL: No field named nope. Valid fields are ms.v, ms.ts.',
    );
    fails(
      'a text in double quotes',
      'SELECT v FROM ms WHERE v = "x"',
      3000,
      /No field named x.* in single quotes: 'x'\.$/,
    );
    fails('a missing function', 'SELECT nope(1)', 3000, "Failed to plan SQL: Invalid function 'nope'.");
    fails('a function of PromQL', 'SELECT rate(v) FROM ms', 3000, /Invalid function 'rate'\. PromQL runs by TQL EVAL/);
    fails('a duration without quotes', 'SELECT now() - 5m', 2000, /after number 5: a duration is INTERVAL '5 minutes'/);
    fails('a missing database', 'SELECT * FROM nodb.t', 4001, 'Failed to plan SQL: Table not found: almanac.nodb.t');
    fails('a syntax error', 'SELECT FROM WHERE', 2000, /^Invalid SQL syntax: sql parser error: /);
  });

  describe('time', () => {
    gives(
      'keeps nanoseconds',
      'SELECT ts, min(ts) FROM cpu WHERE n = 1 GROUP BY ts',
      [[1700000000123456789n, 1700000000123456789n].map(Number)],
      ['TimestampNanosecond', 'TimestampNanosecond'],
    );
    it('writes nanoseconds exactly', async () => {
      expect((await bench.query('SELECT ts FROM cpu WHERE n = 1')).text).to.equal('[[1700000000123456789]]');
    });
    gives(
      'truncates in the unit of the column',
      `SELECT date_trunc('minute', ts), date_trunc('month', ts) FROM cpu WHERE n = 1`,
      [[1699999980000000000, 1698796800000000000]],
      ['TimestampNanosecond', 'TimestampNanosecond'],
    );
    gives(
      'truncates milliseconds',
      `SELECT date_trunc('hour', ts) AS h, count(*) FROM ms GROUP BY h`,
      [[1699999200000, 3]],
      ['TimestampMillisecond', 'Int64'],
    );
    gives(
      'bins',
      `SELECT date_bin(INTERVAL '7 seconds', ts) FROM ms WHERE v = 1`,
      [[1699999994000]],
      ['TimestampMillisecond'],
    );
    gives(
      'bins nanoseconds with an origin',
      `SELECT date_bin(INTERVAL '1 minute', ts, '2023-01-01 00:00:30') FROM cpu WHERE n = 1`,
      [[1699999950000000000]],
    );
    gives('bins by months', `SELECT date_bin(INTERVAL '1 month', ts) FROM ms WHERE v = 1`, [[1698796800000]]);
    it('adds to nanoseconds', async () => {
      expect(
        (
          await bench.query(
            `SELECT ts + INTERVAL '1 hour', ts - INTERVAL '1 month', INTERVAL '1 day' + ts FROM cpu WHERE n = 1`,
          )
        ).text,
      ).to.equal('[[1700003600123456789,1697321600123456789,1700086400123456789]]');
    });
    gives('adds to seconds', `SELECT ts + INTERVAL '1 minute' FROM other.cpu`, [[1700000060]], ['TimestampSecond']);
    gives('compares with a text', `SELECT v FROM ms WHERE ts >= '2023-11-14 22:14:20.123' ORDER BY v`, [[2], [3]]);
    gives('compares with an offset', `SELECT v FROM ms WHERE ts = '2023-11-15T06:15:20+08:00'`, [[3]]);
    gives('compares with a number in the unit of the column', 'SELECT v FROM ms WHERE ts = 1700000000123', [[1]]);
    gives('compares seconds', 'SELECT x FROM other.cpu WHERE ts >= 1700000000 AND ts < 1700000001', [[7]]);
    gives(
      'compares with more digits than the column has',
      `SELECT v FROM ms WHERE ts > '2023-11-14 22:14:20.1229' AND ts <= '2023-11-14 22:14:20.1239'`,
      [[2]],
    );
    gives(
      'takes BETWEEN and IN',
      `SELECT v FROM ms WHERE ts BETWEEN 1700000000123 AND '2023-11-14 22:14:20.123' AND ts NOT IN (5, '2023-11-14 22:14:20.123')`,
      [[1]],
    );
    gives(
      'takes explicit casts',
      `SELECT v FROM ms WHERE ts = '2023-11-14 22:14:20.123'::TIMESTAMP OR ts = 1700000000123::TIMESTAMP ORDER BY v`,
      [[1], [2]],
    );
    gives(
      'casts',
      `SELECT '2023-11-14 22:13:20'::TIMESTAMP, '2023-11-14T22:13:20+01:00'::TIMESTAMP(9), 5::TIMESTAMP(0), TIMESTAMP '1970-01-01 00:00:01'`,
      [[1700000000000, 1699996400000000000, 5, 1000]],
      ['TimestampMillisecond', 'TimestampNanosecond', 'TimestampSecond', 'TimestampMillisecond'],
    );
    gives(
      'casts between units',
      `SELECT ts::TIMESTAMP(3), ts::TIMESTAMP(0), ts::TIMESTAMP_US FROM cpu WHERE n = 1`,
      [[1700000000123, 1700000000, 1700000000123456]],
      ['TimestampMillisecond', 'TimestampSecond', 'TimestampMicrosecond'],
    );
    gives(
      'compares with a computed number',
      'SELECT v FROM ms WHERE ts > 1700000000 * 1000 AND ts < 1700000001 * 1000',
      [[1]],
    );
    gives('casts counts', 'SELECT (v * 1000)::TIMESTAMP FROM ms WHERE v = 2', [[2000]], ['TimestampMillisecond']);
    gives('has one now', `SELECT now() = current_timestamp, now(), now() - INTERVAL '5 minutes' FROM ms LIMIT 1`, [
      [true, 1700000000123000000, 1699999700123000000],
    ]);
    gives('compares with now', `SELECT count(*) FROM ms WHERE ts > now() - INTERVAL '1 second' AND ts <= now()`, [[1]]);
    it("reads naive text in the session's time zone", async () => {
      expect(
        await bench.rows(`SELECT v FROM ms WHERE ts = '2023-11-15 06:15:20'`, { timezone: '+08:00' }),
      ).to.deep.equal([[3]]);
      expect(
        await bench.rows(`SELECT v FROM ms WHERE ts = '2023-11-15 06:15:20'`, { timezone: 'Asia/Shanghai' }),
      ).to.deep.equal([[3]]);
      expect(
        await bench.rows(`SET time_zone = '+8:00'; SELECT v FROM ms WHERE ts = '2023-11-15 06:15:20'`),
      ).to.deep.equal([[3]]);
    });
    fails(
      'a text that is no timestamp',
      `SELECT * FROM ms WHERE ts > 'yesterday'`,
      3001,
      /^Parser error: Error parsing timestamp from 'yesterday'/,
    );
    fails('a day that does not exist', `SELECT * FROM ms WHERE ts > '1993-02-29'`, 3001, /Error parsing timestamp/);
    gives(
      'compares times of subqueries',
      `SELECT count(*) FROM (SELECT date_trunc('minute', ts) AS m FROM ms) WHERE m >= '2023-11-14 22:14:00'`,
      [[2]],
    );
    gives('orders first and last by time', 'SELECT first_value(v), last_value(v) FROM ms', [[1, 3]]);
    gives('has unix times', `SELECT to_unixtime(ts), to_unixtime('1970-01-01 00:00:05') FROM ms WHERE v = 1`, [
      [1700000000, 5],
    ]);
    gives('formats', `SELECT date_format(ts, '%Y-%m-%d %H:%M:%S:%3f') FROM ms WHERE v = 1`, [
      ['2023-11-14 22:13:20:123'],
    ]);
  });

  describe('large results', () => {
    it('returns all rows in order beyond one block', async () => {
      const rows = await bench.rows(
        "SELECT range AS i, range * 0.5 AS h, 'x\"' || range AS s FROM range(25000) ORDER BY i DESC",
      );
      expect(rows).to.have.length(25_000);
      for (let i = 0; i < rows.length; i++) {
        expect(rows[i]).to.deep.equal([24_999 - i, (24_999 - i) / 2, `x"${24_999 - i}`]);
      }
    });
    it('cuts the result at the limit of the request', async () => {
      expect(await bench.rows('SELECT range FROM range(25000) ORDER BY 1 DESC', { limit: 3 })).to.deep.equal([
        [24_999],
        [24_998],
        [24_997],
      ]);
      expect(await bench.rows('SELECT range FROM range(25000) ORDER BY 1', { limit: 5000 })).to.have.length(5000);
    });
    it('fails when a row near the end fails', async () => {
      const error = await bench.error(
        `SELECT CASE WHEN range = 249999 THEN CAST('x' || range AS BIGINT) ELSE range END FROM range(250000)`,
      );
      expect(error.number).to.equal(3001);
    });
    it('ends at the deadline', async () => {
      let error: unknown;
      try {
        for await (const event of bench.events(
          'SELECT count(*) FROM range(100000000) a, range(1000) b',
          {},
          { deadlineMs: Date.now() + 50 },
        )) {
          void event;
        }
      } catch (thrown) {
        error = thrown;
      }
      expect(error).to.have.property('code', 'deadline_exceeded');
    });
    it('ends when the caller cancels', async () => {
      const controller = new AbortController();
      const work = (async () => {
        for await (const event of bench.events(
          'SELECT range FROM range(100000000)',
          {},
          { signal: controller.signal },
        )) {
          void event;
          controller.abort();
        }
      })();
      const error: unknown = await work.catch((thrown: unknown) => thrown);
      expect(error).to.have.property('code', 'cancelled');
    });
  });

  it('releases every snapshot', () => {
    expect(bench.released).to.equal(bench.requests.length);
  });
});
