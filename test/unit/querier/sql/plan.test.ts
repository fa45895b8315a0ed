import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import { QueryConnections } from '#shared/duckdb/query-connection';
import { lexSql } from '#services/querier/sql/syntax/lex';
import { Planner } from '#services/querier/sql/plan/plan';
import { TableNames } from '#services/querier/sql/plan/table-names';
import { UTC } from '#shared/time/zone';
import { NO_METRICS, SqlBench } from '#test/support/sql-bench';

const CALL: Call = {
  deadlineMs: systemClock.nowMs() + 60_000,
  signal: new AbortController().signal,
  requestId: 'test',
};

describe('Planner', () => {
  let bench: SqlBench;
  let planner: Planner;
  let connections: QueryConnections;
  beforeEach(async () => {
    bench = await SqlBench.open();
    await bench.all('CREATE TABLE cpu (host STRING, v DOUBLE, ts TIMESTAMP TIME INDEX, PRIMARY KEY (host))');
    const names = new TableNames(bench.catalog, 'almanac', NO_METRICS);
    planner = new Planner({ catalog: bench.catalog, names, entries: 2 });
    connections = new QueryConnections(bench.instance);
  });
  afterEach(() => {
    connections.close();
    bench.close();
  });

  const planned = (text: string, database = 'public'): Promise<string> =>
    connections.use(async (connection) => {
      const tokens = lexSql(text);
      const { plan, literals, itemNames } = await planner.plan(
        { tokens, from: 0, to: tokens.count },
        { database, given: new Map(), constants: { nowNs: 0n, zone: UTC } },
        connection,
        CALL,
      );
      const print = await plan.printed(connection);
      return print(
        { literals, nowNs: 0n, zone: UTC, database: 'public', user: '' },
        plan.tables.map(() => '(R)'),
        itemNames,
      );
    });
  const counts = (hits: number, misses: number): void => {
    expect([planner.hits, planner.misses]).to.deep.equal([hits, misses]);
  };

  it('shares one plan between queries that differ in literals and whitespace', async () => {
    expect(await planned("SELECT v FROM cpu WHERE host = 'a' AND ts > 5 LIMIT 10")).to.equal(
      "SELECT v FROM (R) AS cpu WHERE ((host = 'a') AND (ts > make_timestamp(5000)::TIMESTAMP_MS)) LIMIT 10",
    );
    expect(await planned("select  V from CPU where host='it''s' and ts > 7 -- again\nlimit 3")).to.equal(
      "SELECT v FROM (R) AS cpu WHERE ((host = 'it''s') AND (ts > make_timestamp(7000)::TIMESTAMP_MS)) LIMIT 3",
    );
    counts(1, 1);
  });

  it('creates another plan for literals of another type, and for another database', async () => {
    await bench.all('CREATE DATABASE other; USE other; CREATE TABLE cpu (v DOUBLE, ts TIMESTAMP(0) TIME INDEX)');
    await planned('SELECT v FROM cpu WHERE ts > 5');
    expect(await planned("SELECT v FROM cpu WHERE ts > '1970-01-01 00:00:05'")).to.contain('make_timestamp(5000000)');
    expect(await planned('SELECT v FROM cpu WHERE ts > 5', 'other')).to.contain('make_timestamp(5000000)::TIMESTAMP_S');
    counts(0, 3);
  });

  it('keeps at most the configured number of plans', async () => {
    for (const name of ['a', 'b', 'c', 'a']) await planned(`SELECT v AS ${name} FROM cpu`);
    counts(0, 4);
  });

  it('keeps plans while other tables change, and drops the plans of changed tables', async () => {
    await planned('SELECT v FROM cpu');
    await bench.all('CREATE TABLE x (ts TIMESTAMP TIME INDEX)');
    await planned('SELECT v FROM cpu');
    counts(1, 1);
    await bench.all('DROP TABLE cpu; CREATE TABLE cpu (w DOUBLE, ts TIMESTAMP TIME INDEX)');
    expect(
      await connections
        .use((connection) => {
          const tokens = lexSql('SELECT * FROM cpu');
          return planner.plan(
            { tokens, from: 0, to: tokens.count },
            { database: 'public', given: new Map(), constants: { nowNs: 0n, zone: UTC } },
            connection,
            CALL,
          );
        })
        .then(({ plan }) => plan.tables[0].table.columns[0].name),
    ).to.equal('w');
    await planned('SELECT v FROM cpu');
    counts(1, 3);
    await bench.all('DROP TABLE cpu');
    expect(await planned('SELECT v FROM cpu').catch((error: unknown) => error)).to.have.property(
      'code',
      'table_not_found',
    );
  });

  it('names result columns by the text of each query', async () => {
    expect(await planned('SELECT v + 1, max(v) FROM cpu')).to.contain('AS "v + 1", max(v) AS "max(v)"');
    expect(await planned('SELECT v+2, max(v) FROM cpu')).to.contain('AS "v+2"');
    counts(1, 1);
  });

  it('plans literals that cannot be parameters', async () => {
    expect(await planned('SELECT v FROM cpu TABLESAMPLE 10 PERCENT')).to.contain('TABLESAMPLE System(10.0e0 PERCENT)');
    expect(await planned("SELECT v FROM cpu WHERE host LIKE 'a!%' ESCAPE '!'")).to.contain(
      "like_escape(host, 'a!%', '!')",
    );
  });
});
