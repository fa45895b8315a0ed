import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { compareOnly, pathOf } from '#test/support/kernel-comparison';
import { tempFolder } from '#test/support/temp-folder';

describe('range queries in kernels', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('return what the engine returns', async () => {
    for (const [unit, precision] of [
      [1_000, 3],
      [1_000_000_000, 9],
    ]) {
      const table = `ranges_${precision}`;
      await almanac.rows(
        `CREATE TABLE ${table} (h STRING, r STRING, d DOUBLE, i INT, ts TIMESTAMP(${precision}) TIME INDEX, PRIMARY KEY (h, r))`,
      );
      await almanac.rows(
        `INSERT INTO ${table} SELECT 'h' || (i % 5), CASE WHEN i % 3 > 0 THEN 'r' || (i % 2) END, i % 11 / 4,` +
          ` CASE WHEN i % 7 > 0 THEN i % 13 END, (i * 7 - 3000) * ${unit} + i % 4 FROM range(2000) AS s(i)`,
      );
      const aggregates = "max(d) RANGE '1m', avg(i) RANGE '60s' AS a, count(*) RANGE '1m'";
      const queries = [
        `ts, h, ${aggregates} FROM ${table} ALIGN '1m' BY (h)`,
        `h, ts, r, ${aggregates} FROM ${table} ALIGN '1m' ORDER BY h DESC, ts, r NULLS FIRST LIMIT 9 OFFSET 3`,
        `ts AS t, ${aggregates} FROM ${table} WHERE ts >= 0 AND h LIKE 'h%' ALIGN '1m' TO '1970-01-01T00:02:00Z' BY () ORDER BY t`,
        `first_value(d) RANGE '1m', last_value(i) RANGE '1m' FROM ${table} WHERE r = 'r1' ALIGN '1m' BY (h)`,
        `${table}.ts, round((max(d) - min(d)) RANGE '1m' * 100 / sum(i) RANGE '1m', 2) AS p FROM ${table} ALIGN '1m' BY (r)`,
        // One plan, with other durations.
        ...['10m', '90s', '20s', '1h'].map((range) => {
          return `ts, h, min(d) RANGE '${range}', last_value(i) RANGE '${range}' AS l FROM ${table} ALIGN '1m' BY (h)`;
        }),
        `ts, h, max(ts) RANGE '5m', min(ts) RANGE '90s', count(*) RANGE '45s' AS n FROM ${table} ALIGN '1m' TO '1969-12-31T23:59:47' BY (h)`,
        `ts, h, sum(i) RANGE '5s' FILL NULL, avg(i) RANGE '5s' FILL PREV, max(i) RANGE '5s' FILL LINEAR, count(i) RANGE '5s' FILL 3, min(i) RANGE '5s' FILL -7, max(d) RANGE '7s' FILL 0.5 FROM ${table} ALIGN '5s' BY (h)`,
        `ts, r, sum(i) RANGE '2s' - 1 AS x, last_value(i) RANGE '4s' FROM ${table} WHERE h IN ('h1', 'h2') AND d > 0 ALIGN '2s' TO '1970-01-01T00:00:01' BY (r) FILL PREV ORDER BY x DESC, ts, r LIMIT 9`,
        `ts, h, (sum(i) RANGE '1m')::DOUBLE / 4 AS x, CAST(max(i) RANGE '2m' AS DOUBLE) * 0.5 AS y FROM ${table} ALIGN '1m' BY (h)`,
        `ts, max(i) RANGE '1m' FROM ${table} WHERE ts > 999999999999999 ALIGN '1m' BY () FILL PREV`,
      ];
      for (const state of ['unflushed', 'flushed']) {
        for (const query of queries) {
          const sql = `SELECT ${query}`;
          expect(await pathOf(sql, almanac), `${query}, ${state}`).to.equal('path: kernels');
          await compareOnly({ sql, isOrdered: query.includes('ORDER BY'), inexact: new Set() }, almanac);
        }
        await almanac.flush(table);
      }
    }
  });

  it('have the rows of slots', async () => {
    const sql =
      "SELECT ts, h, count(*) RANGE '2m' AS n, max(d) RANGE '1m' FILL PREV AS m FROM few ALIGN '1m' TO '1970-01-01T00:00:30Z' BY (h)";
    await almanac.rows('CREATE TABLE few (h STRING PRIMARY KEY, d DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO few VALUES ('a', 1, 0), ('a', 2, 89999), ('a', 3, 270000), ('b', 4, 30000)");
    for (let i = 0; i < 2; i++) {
      expect(await almanac.rows(`${sql} ORDER BY h, ts`)).to.deep.equal([
        [-90000, 'a', 1, null],
        [-30000, 'a', 2, 1],
        [30000, 'a', 1, 2],
        [90000, 'a', 0, 2],
        [150000, 'a', 0, 2],
        [210000, 'a', 1, 2],
        [270000, 'a', 1, 3],
        [-30000, 'b', 1, null],
        [30000, 'b', 1, 4],
      ]);
      await almanac.flush('few');
    }
  });

  it('leaves other range queries to the engine', async () => {
    await almanac.rows('CREATE TABLE gaps (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO gaps VALUES ('a', 1, 0), ('a', 2, 40000000), ('b', 3, 0)");
    for (const [query, reason] of [
      ["DISTINCT max(v) RANGE '1s' FROM gaps ALIGN '1s'", 'DISTINCT'],
      [
        "max(m) FROM (SELECT ts, max(v) RANGE '1s' AS m FROM gaps ALIGN '1s')",
        'the range query is a part of another one',
      ],
      ["max(v) RANGE '1s' FROM gaps ALIGN '1s' BY (upper(h))", 'BY has more than columns'],
      ["max(v) RANGE '1s' AS m FROM gaps ALIGN '1s' ORDER BY m + 1", 'the range query sorts by more than its columns'],
      [
        "ts, upper(h), max(v) RANGE '1s' FROM gaps ALIGN '1s'",
        'upper(gaps.h) is neither a key nor an expression over aggregates',
      ],
      ["median(v) RANGE '1s' FROM gaps ALIGN '1s'", 'median(..) is neither a group nor a supported aggregate'],
      ["max(v) RANGE '1s' FROM (SELECT * FROM gaps) ALIGN '1s' BY (h)", 'the range query does not read one table'],
    ]) {
      expect(await pathOf(`SELECT ${query}`, almanac), query).to.equal(`path: engine: ${reason}`);
    }
    const tooMany = "SELECT ts, max(v) RANGE '1s' FILL PREV FROM gaps ALIGN '1s'";
    expect(await pathOf(tooMany, almanac)).to.equal('path: kernels');
    const { text: tooManyText } = await almanac.sql(tooMany);
    expect(tooManyText).to.contain('FILL adds more than 32767 slots between two slots with rows');
    const long = "SELECT ts, h, max(v) RANGE '10000s' AS m FROM gaps ALIGN '1s' ORDER BY ts, h LIMIT 1";
    expect(await almanac.rows(long)).to.deep.equal([[-9_999_000, 'a', 1]]);
    const { text: unknown } = await almanac.sql('SELECT h, __range0(max(v)) FROM gaps GROUP BY h');
    expect(unknown).to.contain('__range0');
  });
});
