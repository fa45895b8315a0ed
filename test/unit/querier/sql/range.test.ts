import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('range queries', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
    await bench.all(`
      CREATE TABLE host (ts TIMESTAMP(3) TIME INDEX, host STRING PRIMARY KEY, val BIGINT, d DOUBLE, s STRING);
      INSERT INTO host VALUES
        (0, 'a', 0, 0.5, 'x'), (5000, 'a', NULL, NULL, NULL), (10000, 'a', 1, 1.5, 'y'), (25000, 'a', 4, 4.5, 'z'),
        (0, 'b', 3, 3.5, 'x'), (10000, 'b', 4, 4.5, 'y');
      CREATE TABLE gap (ts TIMESTAMP(3) TIME INDEX, val INT);
      INSERT INTO gap VALUES (0, 1), (86400000, 2);
      CREATE TABLE plain (ts TIMESTAMP(9) TIME INDEX, v INT);
      INSERT INTO plain VALUES (-1500000000, 1), (500000000, 2), (1700000000, 3);
      CREATE TABLE early (ts TIMESTAMP(9) TIME INDEX, v INT);
      INSERT INTO early VALUES (-100, 1), (-1000000000, 2)`);
  });
  after(() => bench.close());

  const gives = (title: string, text: string, rows: unknown[][]): void => {
    it(title, async () => {
      expect((await bench.query(text)).rows).to.deep.equal(rows);
    });
  };
  const fails = (title: string, text: string, number: number, message: string): void => {
    it(title, async () => {
      const error = await bench.error(text);
      expect(error.message).to.contain(message);
      expect(error.number, error.message).to.equal(number);
    });
  };
  const a = "FROM host WHERE host = 'a' ALIGN";

  describe('slots', () => {
    gives(
      'aggregates each series of the primary key',
      "SELECT ts, host, min(val) RANGE '10s' FROM host ALIGN '10s' ORDER BY host, ts",
      [
        [0, 'a', 0],
        [10000, 'a', 1],
        [20000, 'a', 4],
        [0, 'b', 3],
        [10000, 'b', 4],
      ],
    );
    gives(
      'counts a row in all slots that cover it',
      `SELECT ts, count(val) RANGE '10s', count(*) RANGE '10s' ${a} '5s' ORDER BY ts`,
      [
        [-5000, 1, 1],
        [0, 1, 2],
        [5000, 1, 2],
        [10000, 1, 1],
        [20000, 1, 1],
        [25000, 1, 1],
      ],
    );
    gives('leaves out rows between slots', `SELECT ts, sum(val) RANGE '5s' ${a} '10s' ORDER BY ts`, [
      [0, 0],
      [10000, 1],
    ]);
    gives(
      'evaluates a narrower range over no rows',
      `SELECT ts, max(val) RANGE '10s', max(val) RANGE '5s' m, count(val) RANGE '5s' ${a} '10s' ORDER BY ts`,
      [
        [0, 0, 0, 1],
        [10000, 1, 1, 1],
        [20000, 4, null, 0],
      ],
    );
    gives('places times before the origin', "SELECT ts, sum(v) RANGE '1s' FROM plain ALIGN '1s' ORDER BY ts", [
      [-2000000000, 1],
      [0, 2],
      [1000000000, 3],
    ]);
    gives('rounds times before 1970 down', "SELECT ts, sum(v) RANGE '1s' FROM early ALIGN '1s' LIMIT 9 + 0", [
      [-1000000000, 3],
    ]);
    gives(
      'begins slots at TO',
      "SELECT ts, sum(v) RANGE '2s' FROM plain ALIGN '2s' TO '1970-01-01T00:00:01' ORDER BY ts",
      [
        [-3000000000, 1],
        [-1000000000, 2],
        [1000000000, 3],
      ],
    );
    gives(
      'takes intervals',
      "SELECT ts, sum(v) RANGE (INTERVAL '1' second + '1 second'::INTERVAL) FROM plain ALIGN (INTERVAL '2 seconds') ORDER BY ts",
      [
        [-2000000000, 1],
        [0, 5],
      ],
    );
    gives(
      'takes the offset of the time zone as origin',
      "SET time_zone = '+01:00'; SELECT ts, count(*) RANGE '1d' FROM plain ALIGN '1d' ORDER BY ts",
      [[-82800000000000, 3]],
    );
    gives(
      'takes offsets of almost a day',
      "SET time_zone = '+23:00'; SELECT ts, count(*) RANGE '1d' FROM plain ALIGN '1d' ORDER BY ts",
      [[-3600000000000, 3]],
    );
  });

  describe('BY', () => {
    gives(
      'groups by an expression',
      "SELECT ts, upper(host) AS h, max(val) RANGE '1m' FROM host ALIGN '1m' BY (upper(host)) ORDER BY h",
      [
        [0, 'A', 4],
        [0, 'B', 4],
      ],
    );
    for (const by of ['BY ()', 'BY (1)', 'BY ((1))']) {
      gives(`makes one group of ${by}`, `SELECT ts, sum(val) RANGE '1m' FROM host ALIGN '1m' ${by}`, [[0, 12]]);
    }
    fails(
      'rejects other columns',
      "SELECT ts, host, max(val) RANGE '1m' FROM host ALIGN '1m' BY ()",
      3001,
      'No field named host',
    );
  });

  describe('items', () => {
    gives(
      'computes with range expressions',
      `SELECT ts, 2 * max(val) RANGE '1m' - min(val) RANGE '1m', abs(min(d) RANGE '1m'), 7 ${a} '1m'`,
      [[0, 8, 0.5, 7]],
    );
    gives('applies RANGE to all calls in parentheses', `SELECT ts, (max(val) - min(val)) RANGE '1m' ${a} '1m'`, [
      [0, 4],
    ]);
    gives(
      'orders first and last values by time',
      `SELECT first_value(val) RANGE '1m', last_value(val) RANGE '1m', last_value(s) RANGE '10s' ${a} '1m'`,
      [[0, 4, null]],
    );
    gives(
      'sorts nulls first in descending order',
      `SELECT first_value(s ORDER BY val DESC) RANGE '1m', last_value(s ORDER BY val DESC) RANGE '1m' ${a} '1m'`,
      [[null, 'x']],
    );
    it('names range expressions', async () => {
      const { columns } = await bench.query(
        `SELECT ts, min(val) RANGE '1m', Max(d) RANGE '1m' FILL LINEAR, min(val) RANGE '1m' AS "Low" ${a} '1m'`,
      );
      const names = ['ts', 'min(host.val) RANGE 1m', 'max(host.d) RANGE 1m FILL LINEAR', 'Low'];
      expect(columns.map(({ name }) => name)).to.deep.equal(names);
    });
  });

  describe('FILL', () => {
    const fill = (title: string, expression: string, last: string, values: unknown[]): void => {
      gives(
        title,
        `SELECT ${expression} FROM host WHERE host = 'a' ALIGN '5s' ${last} ORDER BY ts`,
        values.map((value) => [value]),
      );
    };
    fill('outputs existing slots only by default', "max(val) RANGE '5s'", '', [0, null, 1, 4]);
    fill('outputs all slots', "max(val) RANGE '5s'", 'FILL NULL', [0, null, 1, null, null, 4]);
    fill('repeats the previous value', "max(val) RANGE '5s' FILL PREV", '', [0, 0, 1, 1, 1, 4]);
    fill('interpolates', "max(val) RANGE '5s'", 'FILL LINEAR', [0, 0.5, 1, 2, 3, 4]);
    fill('replaces by a constant', "max(val) RANGE '5s'", 'FILL 6', [0, 6, 1, 6, 6, 4]);
    fill('replaces texts', "max(s) RANGE '5s'", "FILL 'none'", ['x', 'none', 'y', 'none', 'none', 'z']);
    fill('counts no rows as zero', "count(val) RANGE '5s'", 'FILL 6', [1, 0, 1, 0, 0, 1]);
    fill('prefers the FILL of the expression', "max(val) RANGE '5s' FILL -1", 'FILL PREV', [0, -1, 1, -1, -1, 4]);
    gives(
      'extrapolates before the first and after the last value',
      `SELECT ts, max(val) RANGE '5s' FILL LINEAR FROM (SELECT ts, CASE WHEN ts = 5000::TIMESTAMP(3) OR ts = 10000::TIMESTAMP(3) THEN epoch_ms(ts) // 5000 END AS val FROM host WHERE host = 'a') ALIGN '5s' BY () ORDER BY ts`,
      [
        [0, 0],
        [5000, 1],
        [10000, 2],
        [15000, 3],
        [20000, 4],
        [25000, 5],
      ],
    );
    fails(
      'rejects a fraction for integers',
      `SELECT max(val) RANGE '5s' ${a} '5s' FILL 3.0`,
      3000,
      '3.0 is not a valid fill option, fail to convert to a const value',
    );
    fails(
      'rejects too many slots',
      `SELECT max(val) RANGE '1ms' FILL PREV FROM gap ALIGN '1ms'`,
      3001,
      'FILL adds more than 32767 slots between two slots with rows: use a longer ALIGN',
    );
    fails(
      'rejects LINEAR for texts',
      `SELECT max(s) RANGE '5s' ${a} '5s' FILL LINEAR`,
      3000,
      'Use FILL LINEAR on Non-numeric DataType String',
    );
  });

  describe('subqueries', () => {
    gives(
      'is a subquery',
      "SELECT max(m) FROM (SELECT ts, host, sum(val) RANGE '10s' AS m FROM host ALIGN '10s') WHERE host = 'b'",
      [[4]],
    );
    gives(
      'is a common table expression',
      "WITH r AS (SELECT ts, sum(val) RANGE '1m' AS m FROM host ALIGN '1m' BY ()) SELECT m FROM r",
      [[12]],
    );
    gives(
      'reads a subquery',
      "SELECT x.t, h, sum(v) RANGE '1m' FROM (SELECT ts AS t, host AS h, val AS v FROM host) AS x ALIGN '1m' BY (h) ORDER BY x.h",
      [
        [0, 'a', 5],
        [0, 'b', 7],
      ],
    );
    gives(
      'reads a common table expression',
      "WITH c AS (SELECT * FROM host) SELECT ts, sum(val) RANGE '1m' FROM c ALIGN '1m' BY ()",
      [[0, 12]],
    );
    gives(
      'reads a range query',
      "SELECT ts, max(m) RANGE '1m' FROM (SELECT ts, sum(val) RANGE '10s' AS m FROM host ALIGN '10s' BY ()) ALIGN '1m' BY ()",
      [[0, 5]],
    );
    gives(
      'reads a join',
      "SELECT l.ts, r.host, sum(l.val + r.val) RANGE '1m' FROM host l JOIN host r ON l.ts = r.ts AND l.host = r.host ALIGN '1m' BY (r.host) ORDER BY r.host",
      [
        [0, 'a', 10],
        [0, 'b', 14],
      ],
    );
    gives(
      'joins a union',
      "SELECT max(val) RANGE '1m' AS m FROM host ALIGN '1m' BY () UNION ALL SELECT sum(v) RANGE '1m' FROM plain ALIGN '1m' TO '1969-12-31T23:59:30' ORDER BY m",
      [[4], [6]],
    );
    gives(
      'leaves frames and functions of that name alone',
      'SELECT sum(v) OVER (ORDER BY v RANGE BETWEEN 1 PRECEDING AND CURRENT ROW), len(range(3)) FROM plain ORDER BY v',
      [
        [1, 3],
        [3, 3],
        [5, 3],
      ],
    );
    it('explains the plan', async () => {
      expect((await bench.query("EXPLAIN SELECT ts, min(val) RANGE '5s' FROM host ALIGN '5s'")).rows).to.have.length(2);
    });
  });

  describe('errors', () => {
    const syntax = (text: string, message: string): void => {
      fails(`rejects ${text}`, text, 2000, message);
    };
    const plan = (text: string, message: string): void => {
      fails(`rejects ${text}`, text, 3000, message);
    };
    syntax("SELECT min(val) FROM host ALIGN '5s'", 'Illegal Range select, no RANGE keyword found in any SelectItem');
    syntax("SELECT min(val) RANGE '5s' FROM host", 'ALIGN argument cannot be omitted in the range select query');
    syntax(
      "SELECT ts, , min(val) RANGE '5s' FROM host ALIGN '5s'",
      'Invalid SQL syntax: sql parser error: Expected: an expression, found: ,',
    );
    syntax(
      "SELECT min(val) * 2 RANGE '5s' FROM host ALIGN '5s'",
      "Can't use the RANGE keyword in Expr 2 without function",
    );
    syntax(
      "SELECT min(val) FILL PREV RANGE '5s' FROM host ALIGN '5s'",
      'Detect FILL keyword in SELECT Expr, but no RANGE given or RANGE after FILL',
    );
    syntax("SELECT *, min(val) RANGE '5s' FROM host ALIGN '5s'", 'Wildcard `*` is not allowed in range select query');
    syntax(
      "SELECT min(val) RANGE '5s' FROM host ALIGN '5s' ALIGN '5s'",
      'Duplicate ALIGN keyword detected in SELECT clause.',
    );
    syntax(
      "SELECT min(val) RANGE '5s' FROM host ALIGN '5s' FILL 1 FILL 2",
      'Duplicate FILL keyword detected in SELECT clause.',
    );
    syntax(
      "SELECT min(val) RANGE 'not_time' FROM host ALIGN '5s'",
      'Invalid SQL syntax: sql parser error: not a valid duration string: not_time',
    );
    syntax(
      "SELECT min(max(val) RANGE '5s') RANGE '5s' FROM host ALIGN '5s'",
      'Range Query: Nest Range Query is not allowed',
    );
    syntax(
      "SELECT min(val) OVER () RANGE '5s' FROM host ALIGN '5s'",
      'Range Query: Window functions is not allowed in Range Query',
    );
    syntax(
      "SELECT min(val) RANGE '5s' FROM (SELECT * FROM host) ALIGN '5s'",
      'Range Query: Cannot infer default BY columns from derived range query input',
    );
    syntax(
      "SELECT min(val) RANGE '5s' FROM host ALIGN '5s' ORDER BY min(val) RANGE '5s'",
      'ORDER BY takes columns of the result: name the range expression with AS, and sort by that name',
    );
    syntax("SELECT min(val) RANGE '5s' FROM host ALIGN '5s' WHERE val > 1", 'WHERE must come before ALIGN');
    plan("SELECT min(val) RANGE '0s' FROM host ALIGN '5s'", 'duration must be greater than 0');
    plan("SELECT min(val) RANGE (now()) FROM host ALIGN '5s'", 'Illegal argument `now()` in range select query');
    plan(
      "SELECT min(val) RANGE (INTERVAL '1' month) FROM host ALIGN '5s'",
      'Year or month interval is not allowed in range query',
    );
    plan(
      "SELECT min(val) RANGE '5s' FROM host ALIGN '5s' TO later",
      "Illegal `align to` argument `later` in range select query, can't be parse as NOW/CALENDAR/Timestamp",
    );
    plan("SELECT min(val) RANGE '1y' FROM host ALIGN '1s'", 'RANGE is more than 10000 times as long as ALIGN');
    plan("SELECT ts, host, min(val) RANGE '5s', count(*) FROM host ALIGN '5s'", 'column "ts" must appear');
    fails(
      'rejects FILTER',
      "SELECT min(val) FILTER (WHERE val > 1) RANGE '5s' FROM host ALIGN '5s'",
      1001,
      'FILTER in a range expression',
    );
    fails('rejects a missing table', "SELECT min(val) RANGE '5s' FROM missing ALIGN '5s'", 4001, 'missing');
  });
});
