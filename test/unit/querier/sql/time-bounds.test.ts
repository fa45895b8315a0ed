import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('bounds and columns of a snapshot request', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
    await bench.all(`
      CREATE TABLE cpu (host STRING, region STRING, v DOUBLE, w DOUBLE, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (host, region));
      CREATE TABLE ns (v DOUBLE, ts TIMESTAMP(9) TIME INDEX)`);
  });
  after(() => bench.close());

  interface ExpectedRequest {
    readonly from?: bigint;
    readonly to?: bigint;
    readonly tags?: Record<string, string[]>;
    readonly columns?: string[] | 'all';
  }

  const requests = (text: string, ...expected: ExpectedRequest[]): void => {
    it(text, async () => {
      bench.requests.length = 0;
      await bench.all(text);
      const requests = bench.requests.at(-1) ?? [];
      expect(requests).to.have.length(expected.length);
      for (const [i, { from, to, tags = {}, columns }] of expected.entries()) {
        const { timeFrom, timeTo, tagValues, columns: names } = requests[i];
        expect([timeFrom, timeTo], `bounds of ${i}`).to.deep.equal([from, to]);
        expect(Object.fromEntries(tagValues), `tags of ${i}`).to.deep.equal(tags);
        if (columns !== undefined) {
          expect(names === undefined ? 'all' : [...names].sort(), `columns of ${i}`).to.deep.equal(columns);
        }
      }
    });
  };

  requests('SELECT v FROM cpu', { columns: ['ts', 'v'] });
  requests('SELECT * FROM cpu', { columns: 'all' });
  requests('SELECT count(*) FROM cpu', { columns: ['ts'] });
  requests('SELECT cpu FROM cpu', { columns: 'all' });
  requests('SELECT #1 FROM cpu', { columns: 'all' });
  requests('SELECT max(COLUMNS(*)) FROM cpu', { columns: 'all' });
  requests('SELECT a FROM cpu AS t(a)', { columns: 'all' });
  requests('SELECT V FROM cpu WHERE W > 1', { columns: ['ts', 'v', 'w'] });
  requests('SELECT v FROM cpu WHERE ts >= 1000 AND ts < 2000', { from: 1000n, to: 2000n });
  requests('SELECT v FROM cpu WHERE ts > 1000 AND ts <= 2000', { from: 1001n, to: 2001n });
  requests('SELECT v FROM cpu WHERE 1000 <= ts AND 2000 > ts', { from: 1000n, to: 2000n });
  requests('SELECT v FROM cpu WHERE ts BETWEEN 1000 AND 2000', { from: 1000n, to: 2001n });
  requests('SELECT v FROM cpu WHERE ts = 1000', { from: 1000n, to: 1001n });
  requests('SELECT v FROM cpu WHERE ts >= 1 AND ts >= 5 AND ts < 9 AND ts < 7', { from: 5n, to: 7n });
  requests("SELECT v FROM cpu WHERE ts >= '1970-01-01 00:00:01.0005' AND ts < '1970-01-01 00:00:02.0005'", {
    from: 1001n,
    to: 2001n,
  });
  requests("SELECT v FROM cpu WHERE ts > '1969-12-31 23:59:59.9995'", { from: 0n });
  requests("SELECT v FROM ns WHERE ts > '1970-01-01 00:00:01'", { from: 1_000_000_001n });
  requests('SELECT v FROM ns WHERE ts > 5 AND v > 1', { from: 6n });
  requests("SELECT v FROM cpu WHERE ts > now() - INTERVAL '1 second' AND ts < now() + INTERVAL '1 month'", {
    from: 1_699_999_999_124n,
    to: 1_702_592_000_123n,
  });
  requests('SELECT v FROM cpu WHERE ts >= to_timestamp(1700000000) AND ts < to_timestamp_millis(1700000000500)', {
    from: 1_700_000_000_000n,
    to: 1_700_000_000_500n,
  });
  requests("SELECT v FROM cpu WHERE ts >= date_trunc('day', now()) AND ts < date_bin(INTERVAL '1 hour', now())", {
    from: 1_699_920_000_000n,
    to: 1_699_999_200_000n,
  });
  requests("SELECT v FROM cpu WHERE ts >= date_trunc('month', now())", {});
  requests("SELECT v FROM cpu WHERE ts > now() - '5 minute'::INTERVAL", {});
  requests('SELECT v FROM cpu WHERE ts > 1000 OR v > 1', {});
  requests('SELECT v FROM cpu WHERE NOT ts > 1000', { to: 1001n });
  requests('SELECT v FROM cpu WHERE NOT (ts > 1000 AND v > 1)', {});
  requests('SELECT v FROM cpu WHERE (ts > 1000 AND v > 1) AND (v < 5 AND ts < 2000)', { from: 1001n, to: 2000n });
  requests("SELECT v FROM cpu WHERE host = 'a' AND region IN ('x', 'y')", {
    tags: { host: ['a'], region: ['x', 'y'] },
  });
  requests("SELECT v FROM cpu WHERE host = 'a' OR host = 'b'", { tags: { host: ['a', 'b'] } });
  requests("SELECT v FROM cpu WHERE host = 'a' OR region = 'b'", {});
  requests("SELECT v FROM cpu WHERE host <> 'a' AND host NOT IN ('b') AND v = 1 AND region = region", {});
  requests(
    "SELECT c.v FROM cpu c JOIN ns n ON c.v = n.v WHERE c.ts > 5 AND n.ts < 9 AND host = 'a'",
    { from: 6n, tags: { host: ['a'] } },
    { to: 9n },
  );
  requests('SELECT 1 FROM cpu c LEFT JOIN ns n ON c.v = n.v WHERE n.ts < 9', {}, { to: 9n });
  requests(
    'SELECT 1 FROM cpu c ASOF JOIN ns n ON c.v = n.v AND c.ts >= n.ts WHERE n.ts < 9 AND c.ts > 5',
    { from: 6n },
    {},
  );
  requests('SELECT 1 FROM cpu FULL JOIN ns USING (ts) WHERE ts < 9', {}, {});
  requests(
    'SELECT * FROM (SELECT v FROM cpu WHERE ts > 5) WHERE v IN (SELECT v FROM ns WHERE ts < 9)',
    { from: 6n },
    { to: 9n },
  );
  requests('SELECT v FROM cpu WHERE EXISTS (SELECT 1 FROM ns WHERE cpu.ts > 5 AND ns.ts < 9)', {}, { to: 9n });
  requests('WITH x AS (SELECT v, ts FROM cpu WHERE ts > 5) SELECT v FROM x WHERE ts < 9', { from: 6n, to: 9n });
  requests('WITH x AS (SELECT v, ts FROM cpu) SELECT v FROM x WHERE ts < 9 UNION ALL SELECT v FROM x', {});
  requests(
    'WITH x AS (SELECT * FROM cpu), y AS (SELECT * FROM x) SELECT v FROM y a JOIN y b USING (v) WHERE a.ts < 9',
    {},
  );
  requests("WITH x AS (SELECT * FROM cpu), y AS (SELECT * FROM x) SELECT v FROM y WHERE ts < 9 AND host = 'a'", {
    to: 9n,
    tags: { host: ['a'] },
  });
  const both = [{ from: 6n }, { from: 6n }] as const;
  requests('SELECT * FROM (SELECT v, ts FROM cpu UNION ALL SELECT w, ts FROM cpu) WHERE ts > 5', ...both);
  requests('SELECT * FROM (SELECT v, ts FROM cpu EXCEPT SELECT w, ts FROM cpu) WHERE ts > 5', ...both);
  requests('SELECT * FROM (SELECT v, ts FROM cpu UNION SELECT v, ts FROM ns) WHERE ts > 5', {}, {});
  requests('SELECT * FROM (SELECT v, ts FROM cpu UNION ALL BY NAME SELECT ts, v FROM cpu) WHERE ts > 5', {}, {});
  requests('SELECT * FROM (SELECT v, ts FROM cpu UNION ALL SELECT v, ts FROM cpu LIMIT 5) WHERE ts > 5', {}, {});
  requests('SELECT t FROM (SELECT ts AS t, max(v) FROM cpu GROUP BY ts HAVING max(v) > 1) WHERE t > 5', { from: 6n });
  requests('SELECT * FROM (SELECT DISTINCT ts, v FROM cpu ORDER BY v) WHERE ts > 5', { from: 6n });
  requests('SELECT * FROM (SELECT DISTINCT ON (v) ts, v FROM cpu) WHERE ts > 5', {});
  requests('SELECT * FROM (SELECT ts FROM cpu LIMIT 5) WHERE ts > 5', {});
  requests('SELECT * FROM (SELECT ts, sum(v) OVER (ORDER BY ts) FROM cpu) WHERE ts > 5', {});
  requests('SELECT * FROM (SELECT ts FROM cpu QUALIFY row_number() OVER (ORDER BY ts) < 3) WHERE ts > 5', {});
  requests("SELECT * FROM (SELECT ts + INTERVAL '1 second' AS ts FROM cpu) WHERE ts > 5", {});
  requests('SELECT * FROM (SELECT * FROM cpu) TABLESAMPLE (10 PERCENT) WHERE ts > 5', {});
  requests('SELECT * FROM (SELECT * FROM cpu USING SAMPLE 3) WHERE ts > 5', {});
  requests('SELECT * FROM (SELECT * EXCLUDE (host) FROM cpu) WHERE ts > 5', { from: 6n });
  requests("SELECT * FROM (SELECT * REPLACE (ts - INTERVAL '1s' AS ts) FROM cpu) WHERE ts > 5", {});
  requests('SELECT * FROM (SELECT * EXCLUDE (HOST) FROM cpu) AS x(r, v, w, t) WHERE t > 5', { from: 6n });
  requests('SELECT * FROM (SELECT * FROM cpu) AS x(h, r, v, w, t) WHERE t > 5', { from: 6n });
  requests('SELECT 1 FROM cpu a JOIN cpu b ON a.ts = b.ts AND a.host = b.host WHERE a.ts > 5', ...both);
  requests('SELECT 1 FROM cpu a LEFT JOIN cpu b ON a.ts = b.ts WHERE a.ts > 5', { from: 6n }, {});
  requests('SELECT 1 FROM cpu a, cpu b, cpu c WHERE a.ts = b.ts AND b.ts = c.ts AND c.ts > 5', ...both, { from: 6n });
  requests('SELECT 1 FROM cpu a JOIN cpu b USING (ts) WHERE ts > 5', ...both);
  requests('SELECT 1 FROM cpu a JOIN cpu b ON a.ts = b.ts OR a.v = b.v WHERE a.ts > 5', { from: 6n }, {});
  requests('SELECT 1 FROM cpu a JOIN ns b ON a.ts = b.ts WHERE a.ts > 5', { from: 6n }, {});
  requests('SELECT v FROM cpu WHERE ts > 5 UNION ALL SELECT v FROM cpu WHERE ts < 3', { from: 6n }, { to: 3n });
  requests('SELECT v FROM cpu TABLESAMPLE (10 PERCENT) WHERE ts > 5', {});
}).timeout(10_000);
