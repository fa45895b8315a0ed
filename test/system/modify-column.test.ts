import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

/** Field, its type, the type that it gets, and two values that are far from each other. */
const CHANGES: readonly (readonly [string, string, string, string, string])[] = [
  ['i8', 'TINYINT', 'BIGINT', '-128', '127'],
  ['u16', 'SMALLINT UNSIGNED', 'INT', '0', '65535'],
  ['u32', 'INT UNSIGNED', 'BIGINT UNSIGNED', '1', '4294967295'],
  ['i16', 'SMALLINT', 'FLOAT', '-32768', '32767'],
  ['i64', 'BIGINT', 'DOUBLE', '9007199254740993', '-9223372036854775808'],
  ['u64', 'BIGINT UNSIGNED', 'DOUBLE', '0', '18446744073709551615'],
  ['i32', 'INT', 'DECIMAL(12, 1)', '-2147483648', '7'],
  ['f32', 'FLOAT', 'DOUBLE', '0.1', '-3.4e38'],
  ['b_int', 'BOOLEAN', 'TINYINT', 'true', 'false'],
  ['b_float', 'BOOLEAN', 'DOUBLE', 'false', 'true'],
  ['dec', 'DECIMAL(5, 2)', 'DECIMAL(20, 3)', '123.45', '-0.01'],
  ['i_text', 'BIGINT', 'STRING', '-9223372036854775808', '42'],
  ['u_text', 'BIGINT UNSIGNED', 'STRING', '18446744073709551615', '0'],
  ['f_text', 'DOUBLE', 'STRING', '0.1', '1e300'],
  ['f32_text', 'FLOAT', 'STRING', '0.1', '16777216'],
  ['b_text', 'BOOLEAN', 'STRING', 'true', 'false'],
  ['d_text', 'DATE', 'STRING', "'2024-02-29'", "'1969-12-31'"],
  ['s_text', 'TIMESTAMP(0)', 'STRING', "'2024-02-29 12:00:00'", '-1'],
  ['ms_text', 'TIMESTAMP(3)', 'STRING', "'2024-02-29 12:00:00.001'", '-1'],
  ['us_text', 'TIMESTAMP(6)', 'STRING', "'2024-02-29 12:00:00.000001'", '-1'],
  ['ns_text', 'TIMESTAMP(9)', 'STRING', "'2024-02-29 12:00:00.000000001'", '-1'],
  ['dec_text', 'DECIMAL(5, 2)', 'STRING', '1.5', '-999.99'],
  ['json_text', 'JSON', 'STRING', `'{"a":1}'`, "'[1,2]'"],
];

const WITHIN_MS = 60_000;

const NAMES = CHANGES.map(([name]) => name).join(', ');

/** What a statement about a table returns. */
interface Answer {
  readonly table: string;
  readonly statement: string;
  readonly rows: readonly unknown[][];
}

describe('ALTER TABLE .. MODIFY COLUMN c TYPE', function () {
  this.timeout(120_000);
  const cleanUps: (() => void)[] = [];
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => cleanUps.push(after));
    almanac = await Almanac.start(folder);
  });

  beforeEach(() => almanac.dropTables());

  after(async () => {
    await almanac.stop();
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  async function run(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await almanac.rows(statement);
  }

  async function refused(statement: string): Promise<string> {
    const { status, text } = await almanac.sql(statement);
    expect(status, text).to.equal(400);
    const { code, error } = JSON.parse(text) as { code: number; error: string };
    return `${code} ${error}`;
  }

  async function startAgain(): Promise<void> {
    await almanac.kill();
    almanac = await Almanac.start(folder);
  }

  /** The same now, from the log, from segments, and merged. */
  function holds(table: string, statement: string, rows: readonly unknown[][]): Promise<void> {
    return allHold([{ table, statement, rows }]);
  }

  /** The same of several tables, with the same two restarts. */
  async function allHold(answers: readonly Answer[]): Promise<void> {
    const compare = async (when: string): Promise<void> => {
      for (const { statement, rows } of answers) expect(await almanac.rows(statement), when).to.deep.equal(rows);
    };
    await compare('now');
    await startAgain();
    await compare('from the log');
    for (const { table } of answers) await almanac.flush(table);
    await compare('flushed');
    for (const { table } of answers) await run(`ADMIN compact_table('${table}')`);
    await compare('merged');
    await startAgain();
    await compare('started again');
  }

  async function samples(query: string): Promise<string[]> {
    const parameters = new URLSearchParams({ query, start: '0', end: '0.01', step: '0.001' }).toString();
    const { status, text } = await almanac.get(`/v1/prometheus/api/v1/query_range?${parameters}`);
    expect(status, text).to.equal(200);
    const { data } = JSON.parse(text) as { data: { result: { values: [number, string][] }[] } };
    return data.result.flatMap(({ values }) => values.map(([, value]) => value));
  }

  async function typeOf(table: string, column: string): Promise<unknown> {
    return (await almanac.rows(`DESC ${table}`)).find(([name]) => name === column)?.[1];
  }

  it('converts every value to the new type, wherever it is stored', async () => {
    const columns = CHANGES.map(([name, type]) => `${name} ${type}`).join(', ');
    const row = (host: string, values: readonly string[], time: number): string =>
      `INSERT INTO t (h, ${NAMES}, ts) VALUES ('${host}', ${values.join(', ')}, ${time})`;
    const [first, second] = [CHANGES.map((it) => it[3]), CHANGES.map((it) => it[4])];
    const nulls = CHANGES.map(() => 'NULL');
    await run(
      `CREATE TABLE t (h STRING PRIMARY KEY, ${columns}, ts TIMESTAMP(3) TIME INDEX)`,
      row('a', first, 1),
      row('b', nulls, 2),
      "ADMIN flush_table('t')",
      row('c', second, 3),
      "ADMIN flush_table('t')",
      row('d', first, 4),
      row('e', second, 5),
      row('f', nulls, 6),
    );
    const casts = CHANGES.map(([name, , type]) => `${name}::${type}`).join(', ');
    const before = await almanac.rows(`SELECT h, ${casts} FROM t ORDER BY h`);
    expect(before[0].slice(1)).not.to.include(null);
    await run(`ALTER TABLE t ${CHANGES.map(([name, , type]) => `MODIFY COLUMN ${name} ${type}`).join(', ')}`);
    await holds('t', `SELECT h, ${NAMES} FROM t ORDER BY h`, before);
    for (const [name, , type] of CHANGES) {
      const [[, create]] = await almanac.rows('SHOW CREATE TABLE t');
      expect(create).to.contain(`"${name}" ${type}`);
    }
    await run("INSERT INTO t (h, i8, i64, f_text, d_text, ts) VALUES ('z', 128, 1.5, 'one', 'now', 9)");
    await holds('t', "SELECT i8, i64, f_text, d_text FROM t WHERE h = 'z'", [[128, 1.5, 'one', 'now']]);
    expect((await almanac.rows(`SELECT h, ${NAMES} FROM t WHERE h < 'z' ORDER BY h`)).length).to.equal(6);
  });

  it('converts the first and last times and dates to text', async () => {
    const [us, ns, day] = ['8640000000000000000', '9223372036854775806', '2147483646'];
    await run(
      'CREATE TABLE t (h STRING PRIMARY KEY, us TIMESTAMP(6), ns TIMESTAMP(9), d DATE, ts TIMESTAMP(3) TIME INDEX)',
      `INSERT INTO t VALUES ('a', -${us}, -${ns}, -${day}, 1)`,
      "ADMIN flush_table('t')",
      `INSERT INTO t VALUES ('b', ${us}, ${ns}, ${day}, 1)`,
    );
    // The engine has no text for the first times in nanoseconds.
    const text = "CASE h WHEN 'a' THEN '-9223372036854775' ELSE ns::STRING END";
    const before = await almanac.rows(`SELECT us::STRING, ${text}, d::STRING FROM t ORDER BY h`);
    await run('ALTER TABLE t MODIFY COLUMN us STRING, MODIFY COLUMN ns STRING, MODIFY COLUMN d STRING');
    await holds('t', 'SELECT us, ns, d FROM t ORDER BY h', before);
  });

  it('converts a value through all types that its column has had since', async () => {
    await run(
      'CREATE TABLE t (h STRING PRIMARY KEY, n INT, m INT, b BOOLEAN, ts TIMESTAMP(3) TIME INDEX)',
      "INSERT INTO t VALUES ('a', 5, 5, true, 1)",
      "ADMIN flush_table('t')",
      "INSERT INTO t VALUES ('b', 6, 6, false, 2)",
      'ALTER TABLE t MODIFY COLUMN n DOUBLE, MODIFY COLUMN b TINYINT',
      "INSERT INTO t VALUES ('c', 7.5, 7, 2, 3)",
      "ADMIN flush_table('t')",
      "INSERT INTO t VALUES ('d', 8, 8, 3, 4)",
      'ALTER TABLE t MODIFY COLUMN n STRING, MODIFY COLUMN m STRING, MODIFY COLUMN b STRING',
      "INSERT INTO t VALUES ('e', 'x', 'y', 'z', 5)",
    );
    await holds('t', 'SELECT h, n, m, b FROM t ORDER BY h', [
      ['a', '5.0', '5', '1'],
      ['b', '6.0', '6', '0'],
      ['c', '7.5', '7', '2'],
      ['d', '8.0', '8', '3'],
      ['e', 'x', 'y', 'z'],
    ]);
  });

  it('merges versions of both types, in both merge modes', async () => {
    for (const [table, mode] of [
      ['whole', 'last_row'],
      ['fields', 'last_non_null'],
    ]) {
      await run(
        `CREATE TABLE ${table} (h STRING PRIMARY KEY, v INT, w INT, ts TIMESTAMP(3) TIME INDEX) WITH (merge_mode='${mode}')`,
        `INSERT INTO ${table} VALUES ('a', 1, 1, 1), ('b', 1, 1, 1), ('c', 1, 1, 1), ('d', 1, 1, 1)`,
        `ADMIN flush_table('${table}')`,
        `INSERT INTO ${table} VALUES ('b', NULL, 2, 1)`,
        `ALTER TABLE ${table} MODIFY COLUMN v DOUBLE, MODIFY COLUMN w STRING`,
        `INSERT INTO ${table} VALUES ('a', 1.5, NULL, 1), ('c', NULL, 'c', 1)`,
        `DELETE FROM ${table} WHERE v = 1 AND h = 'd'`,
        `INSERT INTO ${table} VALUES ('d', NULL, 'new', 1)`,
      );
    }
    await allHold([
      {
        table: 'whole',
        statement: 'SELECT h, v, w FROM whole ORDER BY h',
        rows: [
          ['a', 1.5, null],
          ['b', null, '2'],
          ['c', null, 'c'],
          ['d', null, 'new'],
        ],
      },
      {
        table: 'fields',
        statement: 'SELECT h, v, w FROM fields ORDER BY h',
        rows: [
          ['a', 1.5, '1'],
          ['b', 1, '2'],
          ['c', 1, 'c'],
          ['d', null, 'new'],
        ],
      },
    ]);
    await run('DELETE FROM fields WHERE v >= 1.25', "DELETE FROM whole WHERE w = '2'");
    await allHold([
      {
        table: 'fields',
        statement: 'SELECT h, v FROM fields ORDER BY h',
        rows: [
          ['b', 1],
          ['c', 1],
          ['d', null],
        ],
      },
      { table: 'whole', statement: 'SELECT h FROM whole ORDER BY h', rows: [['a'], ['c'], ['d']] },
    ]);
  });

  it('converts the values of rows older than the column, and defaults', async () => {
    await run(
      'CREATE TABLE t (h STRING PRIMARY KEY, ts TIMESTAMP(3) TIME INDEX)',
      "INSERT INTO t VALUES ('a', 1)",
      'ALTER TABLE t ADD COLUMN f FLOAT DEFAULT 0.1, ADD COLUMN b BOOLEAN DEFAULT true, ADD COLUMN n INT DEFAULT 3',
      "INSERT INTO t (h, ts) VALUES ('b', 2)",
    );
    const before = await almanac.rows('SELECT f::DOUBLE, b::INT, n::STRING FROM t ORDER BY h');
    expect(await refused('ALTER TABLE t MODIFY COLUMN n STRING')).to.contain(
      "1004 default 3 of column 'n' is not a valid String",
    );
    await run(
      'ALTER TABLE t MODIFY COLUMN f DOUBLE, MODIFY COLUMN b DROP DEFAULT, MODIFY COLUMN b INT, ' +
        "MODIFY COLUMN n DROP DEFAULT, MODIFY COLUMN n STRING, MODIFY COLUMN n SET DEFAULT 'none'",
    );
    await holds('t', 'SELECT f, b, n FROM t ORDER BY h', before);
    await run("INSERT INTO t (h, ts) VALUES ('c', 3)");
    await holds('t', "SELECT f, b, n FROM t WHERE h = 'c'", [[0.1, null, 'none']]);
    const [[, create]] = await almanac.rows('SHOW CREATE TABLE t');
    expect(create).to.match(/"f" DOUBLE NULL DEFAULT 0\.1/);
  });

  it('lets PromQL see numbers as they were, and no texts', async () => {
    await run(
      'CREATE TABLE t (h STRING PRIMARY KEY, v INT, ts TIMESTAMP(3) TIME INDEX)',
      "INSERT INTO t VALUES ('a', 1, 1)",
      "ADMIN flush_table('t')",
      "INSERT INTO t VALUES ('a', 2, 2)",
    );
    expect(await samples('last_over_time(t[1ms])')).to.deep.equal(['1', '2']);
    await run('ALTER TABLE t MODIFY COLUMN v DOUBLE', "INSERT INTO t VALUES ('a', 2.5, 3)");
    for (const flush of [true, false]) {
      expect(await samples('last_over_time(t[1ms])')).to.deep.equal(['1', '2', '2.5']);
      if (flush) await almanac.flush('t');
    }
    await run('ALTER TABLE t MODIFY COLUMN v STRING', "INSERT INTO t VALUES ('a', 'x', 4)");
    expect(await samples('last_over_time(t[1ms])')).to.deep.equal([]);
  });

  it('lets line protocol write the new type, and reports a conflict with it', async () => {
    await almanac.written('m v=1i 1');
    expect((await almanac.write('m v=1.5 2')).text).to.contain('is type float, already exists as type integer');
    await run('ALTER TABLE m MODIFY COLUMN v DOUBLE');
    await almanac.written('m v=1.5 2');
    expect((await almanac.write('m v=3i 3')).text).to.contain('is type integer, already exists as type float');
    await holds('m', 'SELECT v FROM m ORDER BY 1', [[1], [1.5]]);
  });

  it('can be combined with other changes', async () => {
    await run(
      'CREATE TABLE t (h STRING PRIMARY KEY, n INT, o INT, ts TIMESTAMP(3) TIME INDEX)',
      "INSERT INTO t VALUES ('a', 1, 1, 1)",
      "ADMIN flush_table('t')",
      "INSERT INTO t VALUES ('b', 2, 2, 2)",
      'ALTER TABLE t ADD COLUMN x INT, RENAME COLUMN n TO k, MODIFY COLUMN k DOUBLE, MODIFY COLUMN o STRING',
      'ALTER TABLE t DROP COLUMN o, RENAME COLUMN x TO o',
      'ALTER TABLE t RENAME u',
      "INSERT INTO u (h, k, o, ts) VALUES ('c', 2.5, 7, 3)",
      'ALTER TABLE u MODIFY COLUMN o BIGINT, ADD COLUMN n STRING',
    );
    await holds('u', 'SELECT h, k, o, n FROM u ORDER BY h', [
      ['a', 1, null, null],
      ['b', 2, null, null],
      ['c', 2.5, 7, null],
    ]);
    expect(await typeOf('u', 'o')).to.equal('Int64');
    await run('ALTER TABLE u MODIFY COLUMN o BIGINT');
    expect(await almanac.rows('SELECT o FROM u WHERE k > 2')).to.deep.equal([[7]]);
  });

  it('refuses invalid changes, and changes nothing', async () => {
    await run(
      'CREATE TABLE t (id INT PRIMARY KEY, i INT, u BIGINT UNSIGNED, f DOUBLE, k STRING, b VARBINARY, s TIMESTAMP(0), ' +
        "must INT NOT NULL, j TIMESTAMP(3) TIME INDEX) WITH (merge_mode = 'last_non_null')",
      "INSERT INTO t VALUES (1, 1, 1, 1, '1', 'x', 1, 1, 1)",
    );
    const before = await almanac.rows('SHOW CREATE TABLE t');
    const cannot = (column: string, type: string): string =>
      `1004 column '${column}' cannot be cast automatically to type '${type}'`;
    const notEvery = (column: string, type: string, from: string): string =>
      `${cannot(column, type)}: not every value of type '${from}' is one, as merge_mode last_non_null requires`;
    const wrong: readonly (readonly [string, string])[] = [
      ['id BIGINT', "1004 Not allowed to change primary key index column 'id'"],
      ['j TIMESTAMP(9)', "1004 Not allowed to change timestamp index column 'j' datatype"],
      ['must BIGINT', "1004 column 'must' must be nullable to ensure safe conversion."],
      ['absent BIGINT', '4002 Column absent not exists in table t'],
      ['i SMALLINT', notEvery('i', 'Int16', 'Int32')],
      ['i INT UNSIGNED', notEvery('i', 'UInt32', 'Int32')],
      ['i FLOAT', notEvery('i', 'Float32', 'Int32')],
      ['i BOOLEAN', notEvery('i', 'Boolean', 'Int32')],
      ['i DECIMAL(10, 1)', notEvery('i', 'Decimal(10, 1)', 'Int32')],
      ['u BIGINT', notEvery('u', 'Int64', 'UInt64')],
      ['f FLOAT', notEvery('f', 'Float32', 'Float64')],
      ['f BIGINT', notEvery('f', 'Int64', 'Float64')],
      ['k DATE', notEvery('k', 'Date', 'String')],
      ['k DOUBLE', notEvery('k', 'Float64', 'String')],
      ['s TIMESTAMP(3)', cannot('s', 'TimestampMillisecond')],
      ['i DATE', cannot('i', 'Date')],
      ['s BIGINT', cannot('s', 'Int64')],
      ['b STRING', cannot('b', 'String')],
      ['i BIGINT, MODIFY COLUMN k DATE', notEvery('k', 'Date', 'String')],
    ];
    for (const [change, error] of wrong) expect(await refused(`ALTER TABLE t MODIFY COLUMN ${change}`)).to.equal(error);
    expect(await refused('ALTER TABLE t MODIFY COLUMN i NO_TYPE')).to.contain('SQL data type not supported yet');
    expect(await refused('ALTER TABLE t MODIFY COLUMN i BIGINT NOT NULL')).to.match(/^2000/);
    expect(await almanac.rows('SHOW CREATE TABLE t')).to.deep.equal(before);
    await holds('t', 'SELECT id, i, u, f, k, must FROM t', [[1, 1, 1, 1, '1', 1]]);
  });

  it('loses no row of writers, and lets readers read', async () => {
    const types = ['SMALLINT', 'INT', 'BIGINT', 'DOUBLE', 'STRING'];
    await run('CREATE TABLE t (h STRING PRIMARY KEY, n TINYINT, ts TIMESTAMP(3) TIME INDEX)');
    let isOver = false;
    const written: number[] = [0, 0, 0];
    const writing = async (writer: number): Promise<void> => {
      for (let i = 0; !isOver; i++) {
        // A number is none where texts are wanted.
        const { status, text } = await almanac.sql(`INSERT INTO t VALUES ('w${writer}', ${i % 100}, ${i})`);
        if (status === 400 && text.includes('Fail to parse number')) return;
        expect(status, text).to.equal(200);
        written[writer] = i + 1;
      }
    };
    const reading = async (): Promise<void> => {
      for (let least = 0; !isOver;) {
        const known = written.reduce((sum, count) => sum + count, 0);
        const [[count, values]] = await almanac.rows('SELECT count(*), count(n) FROM t');
        expect(count).to.be.at.least(Math.max(least, known));
        expect(values).to.equal(count);
        least = Number(count);
      }
    };
    const altering = async (): Promise<void> => {
      try {
        for (const [i, type] of types.entries()) {
          const enough = written[0] + 20;
          await eventually(() => written[0] >= enough, WITHIN_MS);
          await run(`ALTER TABLE t MODIFY COLUMN n ${type}`);
          if (i % 2 === 1) await run("ADMIN compact_table('t')");
        }
      } finally {
        isOver = true;
      }
    };
    await Promise.all([writing(0), writing(1), writing(2), reading(), altering()]);
    const wanted = written.map((count, i) => [`w${i}`, count, count]);
    const sound = "n SIMILAR TO '[0-9]+[.]0' AND n::DOUBLE = epoch_ms(ts) % 100";
    await holds('t', `SELECT h, count(*), count(*) FILTER (WHERE ${sound}) FROM t GROUP BY h ORDER BY h`, wanted);
  });

  it('is known to check, backup and restore', async () => {
    await run(
      'CREATE TABLE t (h STRING PRIMARY KEY, n INT, ts TIMESTAMP(3) TIME INDEX)',
      "INSERT INTO t VALUES ('a', 1, 1)",
      "ADMIN flush_table('t')",
      "INSERT INTO t VALUES ('b', 2, 2)",
      'ALTER TABLE t MODIFY COLUMN n DOUBLE',
      "INSERT INTO t VALUES ('c', 2.5, 3)",
    );
    const own = tempFolder((after) => cleanUps.push(after));
    const [target, data] = [join(own, 'backup'), join(own, 'data')];
    const backup = await runAlmanac(['backup', target, '--data-dir', folder, '--host', almanac.url]);
    expect(backup.code, backup.stderr).to.equal(0);
    await almanac.kill();
    const check = await runAlmanac(['check', folder]);
    expect(check.stdout + check.stderr).to.contain(' 0 problems');
    const restore = await runAlmanac(['restore', target, '--data-dir', data]);
    expect(restore.code, restore.stderr).to.equal(0);
    folder = data;
    almanac = await Almanac.start(data);
    await holds('t', 'SELECT h, n FROM t ORDER BY h', [
      ['a', 1],
      ['b', 2],
      ['c', 2.5],
    ]);
  });
});
