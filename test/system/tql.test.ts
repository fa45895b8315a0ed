import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

type Answer = Awaited<ReturnType<Almanac['sql']>>;

describe('TQL', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      { flags: [] },
    );
    await ask(`
      CREATE TABLE test (i DOUBLE, j TIMESTAMP TIME INDEX, k STRING PRIMARY KEY);
      INSERT INTO test VALUES (1, 1, 'a'), (1, 1, 'b'), (2, 2, 'a');
      CREATE TABLE multi (ts TIMESTAMP(9) TIME INDEX, u DOUBLE, s INT, note STRING, "Host" STRING PRIMARY KEY);
      INSERT INTO multi VALUES (0, 0.5, 1, 'x', 'a'), (5000000000, 1.5, 2, 'y', 'b');
      CREATE DATABASE other; USE other;
      CREATE TABLE test (v DOUBLE, ts TIMESTAMP TIME INDEX);
      INSERT INTO test VALUES (7, 0)`);
    const histograms = [
      {
        ...{ count_int: 3, sum: 4, schema: 1, timestamp: 0 },
        ...{ positive_spans: [{ offset: 0, length: 1 }], positive_deltas: [3] },
      },
    ];
    const series: Series[] = [
      {
        labels: [
          ['__name__', 'up'],
          ['Job', 'a'],
          ['job', 'b'],
        ],
        samples: [{ value: 1, timestamp: 0 }],
      },
      {
        labels: [
          ['__name__', 'up'],
          ['job', 'c'],
        ],
        samples: [{ value: 0, timestamp: 5000 }],
      },
      { labels: [['__name__', 'lat']], histograms },
    ];
    expect(
      (await almanac.post('/v1/prometheus/write', Uint8Array.from(compressSync(bodyV1(series, []))))).status,
    ).to.equal(204);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function ask(sql: string, form: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const answer = await almanac.sql(sql, form);
    expect(answer.status, `${sql}: ${answer.text}`).to.equal(200);
    return answer;
  }

  /** Columns and rows of the last statement. */
  async function table(sql: string, form: Readonly<Record<string, string>> = {}): Promise<[string[], unknown[][]]> {
    const { text } = await ask(sql, form);
    const { output } = JSON.parse(text) as {
      output: { records: { schema: { column_schemas: { name: string; data_type: string }[] }; rows: unknown[][] } }[];
    };
    const { schema, rows } = output[output.length - 1].records;
    return [schema.column_schemas.map(({ name, data_type: type }) => `${name} ${type}`), rows];
  }

  const gives = (query: string, columns: string, rows: unknown[][]): void => {
    it(`returns ${query}`, async () => {
      const [names, found] = await table(query);
      expect(names.map((name) => name.replace(/ [A-Za-z0-9]+$/, '')).join(' | ')).to.equal(columns);
      expect(found).to.deep.equal(rows);
    });
  };
  const fails = (query: string, code: number, message: string | RegExp): void => {
    it(`refuses ${query}`, async () => {
      const { text } = await almanac.sql(query);
      const { code: found, error } = JSON.parse(text) as { readonly code: number; readonly error: string };
      expect(found, text.slice(0, 500)).to.equal(code);
      if (typeof message === 'string') expect(error).to.equal(message);
      else expect(error).to.match(message);
    });
  };

  describe('over tables', () => {
    gives("TQL EVAL (0, 10, '5s') test{k='b'}", 'i | j | k', [
      [1, 5000, 'b'],
      [1, 10_000, 'b'],
    ]);
    gives('TQL EVAL (0, 2, 1, \'1s\') {__name__="test"} AS x', 'x | k | j', [
      [2, 'a', 1000],
      [1, 'b', 1000],
    ]);
    gives("TQL EVAL (5, 5, '5s') sum(test)", 'j | sum(test)', [[5000, 3]]);
    gives("TQL EVAL (5, 5, '5s') sum by (k) (test) * 2", 'k | j | sum by (k) (test) * 2', [
      ['a', 5000, 4],
      ['b', 5000, 2],
    ]);
    gives("TQL EVAL (5, 5, '5s') topk(1, test)", 'i | k | j', [[2, 'a', 5000]]);
    gives("TQL EVAL (5, 5, '5s') sort_desc(test > 1)", 'j | i | k', [[5000, 2, 'a']]);
    gives("TQL EVAL (5, 5, '5s') test > 9", 'i | j | k', []);
    gives("TQL EVAL (5, 5, '5s') rate(test[1m]) > 9", 'j | rate(test[1m]) > 9 | k', []);
    gives('TQL EVAL (0, 0, \'5s\') test{__schema__="other"}', 'v | ts', [[7, 0]]);
    gives('TQL EVAL (0, 0, \'5s\') test{__database__="nowhere"}', 'time | value', []);
    gives("TQL EVAL (0, 0, '5s') unknown", 'time | value', []);
    gives('TQL EVAL (0, 0, \'5s\') absent(unknown{a="b"})', 'time | value | a', [[0, 1, 'b']]);
  });

  describe('over several fields', () => {
    gives("TQL EVAL (5, 5, '5s') multi", 'ts | u | s | Host', [
      [5_000_000_000, 0.5, 1, 'a'],
      [5_000_000_000, 1.5, 2, 'b'],
    ]);
    gives("TQL EVAL (5, 5, '5s') sum(multi)", 'ts | sum(multi{__field__="u"}) | sum(multi{__field__="s"})', [
      [5_000_000_000, 2, 3],
    ]);
    gives(
      'TQL EVAL (0, 0, \'5s\') multi{__field__="u"} + multi{__field__="s"}',
      'Host | ts | multi{__field__="u"} + multi{__field__="s"}',
      [['a', 0, 1.5]],
    );
    gives('TQL EVAL (0, 0, \'5s\') multi{__field__!~"u"}', 'ts | s | Host', [[0, 1, 'a']]);
    fails("TQL EVAL (0, 0, '5s') topk(1, multi)", 1004, /^Unsupported expr type: topk/);
    fails('TQL EVAL (0, 0, \'5s\') multi{__field__="note"}', 1004, 'Cannot find column note');
  });

  describe('over metrics', () => {
    gives("TQL EVAL (5, 5, '5s') up", 'almanac_timestamp | almanac_value | Job | job', [
      [5000, 1, 'a', 'b'],
      [5000, 0, null, 'c'],
    ]);
    gives("TQL EVAL (0, 0, '5s') lat", 'almanac_timestamp | almanac_native_histogram', [
      [0, { count: '3', sum: '4', buckets: [[0, '0.7071067811865476', '1', '3']] }],
    ]);
    gives("TQL EVAL (0, 0, '5s') histogram_count(lat) AS n", 'n | almanac_timestamp', [[3, 0]]);
  });

  describe('without tables', () => {
    gives("TQL EVAL (0, 10, '5s') 1 + 1", 'time | value', [
      [0, 2],
      [5000, 2],
      [10_000, 2],
    ]);
    gives('TQL EVAL (0, 5, \'5s\') "a;b"', 'time | value', [
      [0, 'a;b'],
      [5000, 'a;b'],
    ]);
    gives('TQL EVAL (1.5, 1.5, 1) time() AS t', 't | time', [[1.5, 1500]]);
    gives('TQL EVAL vector(1)', 'time | value', [[0, 1]]);
  });

  it('types its columns, and limits them like other results', async () => {
    const [columns] = await table("TQL EVAL (0, 0, '5s') multi");
    expect(columns).to.deep.equal(['ts TimestampNanosecond', 'u Float64', 's Float64', 'Host String']);
    const [, rows] = await table('TQL EVAL (0, 9, 1) 1', { limit: '3' });
    expect(rows).to.have.length(3);
  });

  describe('inside queries', () => {
    it('is joined with tables', async () => {
      const [columns, rows] = await table(`
        WITH x AS (TQL EVAL (5, 5, '5s') sum by (k) (test) AS v), y AS (SELECT k, count(*) AS n FROM test GROUP BY k)
        SELECT x.k, v, n, j FROM x JOIN y USING (k) WHERE j = 5000 ORDER BY 1`);
      expect(columns).to.deep.equal(['k String', 'v Float64', 'n Int64', 'j TimestampMillisecond']);
      expect(rows).to.deep.equal([
        ['a', 2, 2, 5000],
        ['b', 1, 1, 5000],
      ]);
    });

    it('names its columns uniquely, however similar they are', async () => {
      const sql = "WITH x(t, v) AS (TQL EVAL (0, 0, '5s') up) SELECT * FROM x";
      const [columns, rows] = await table(sql);
      expect(columns).to.deep.equal([...['t TimestampMillisecond', 'v Float64', '^job String', 'job String']]);
      expect(rows).to.deep.equal([[0, 1, 'a', 'b']]);
      const labelled = (labels: readonly string[]): string =>
        labels.reduce((query, label) => `label_replace(${query}, "${label}", "of ${label}", "", "")`, 'vector(1)');
      const named = async (labels: readonly string[]): Promise<string> => {
        const [found, [cells]] = await table(`SELECT * FROM (TQL EVAL (0, 0, 1) ${labelled(labels)}) AS t`);
        return found.map((column, i) => `${column.split(' ')[0]}: ${String(cells[i])}`).join(', ');
      };
      expect(await named(['A', 'a', '^a'])).to.equal('time: 0, value: 1, ^a^: of A, ^a: of ^a, a: of a');
      expect(await named(['time', 'value'])).to.equal('time: 0, value: 1, time^: of time, value^: of value');
    });

    it('is a table like others', async () => {
      expect((await table('SELECT count(*) FROM (TQL EVAL (0, 9999, 1) time()) AS t'))[1]).to.deep.equal([[10_000]]);
      await ask('CREATE TABLE copied (v DOUBLE, ts TIMESTAMP TIME INDEX)');
      await ask("INSERT INTO copied SELECT v, j FROM (TQL EVAL (5, 10, '5s') sum(test) AS v)");
      expect((await table('SELECT * FROM copied ORDER BY ts'))[1]).to.deep.equal([
        [3, 5000],
        [3, 10_000],
      ]);
      const [, plan] = await table("EXPLAIN SELECT * FROM (TQL EVAL (0, 0, '5s') test)");
      expect(plan[0]).to.deep.equal(['logical_plan', 'no tables']);
      expect((await table("SELECT 1; WITH x AS (TQL EVAL (0, 0, '5s') nothing) SELECT * FROM x"))[1]).to.deep.equal([]);
    });

    it('leaves no table', async () => {
      await ask("SELECT * FROM (TQL EVAL (0, 0, '5s') test)");
      const { text } = await almanac.sql('SELECT * FROM __tql_0');
      expect(text).to.contain('Table not found');
    });

    fails('WITH x AS (TQL EXPLAIN test) SELECT 1', 2000, 'Invalid TQL syntax: Only TQL EVAL is supported in CTEs');
    fails('WITH x AS (TQL EVAL (0, 0, 1) sum() SELECT 1', 2000, /parse error/);
  });

  describe('EXPLAIN and ANALYZE', () => {
    it('indent a plan of 2,000 levels by a limited number of spaces', async () => {
      const [, [[, plan]]] = await table(`TQL EXPLAIN (0, 10, '5s') ${'test + '.repeat(1999)}test`);
      const lines = String(plan).split('\n');
      expect(lines).to.have.length(4000);
      expect(Math.max(...lines.map((line) => line.search(/\S/)))).to.equal(200);
    });

    it('print what is computed', async () => {
      const [columns, rows] = await table("TQL EXPLAIN (0, 10, '5s') sum by (k) (rate(test[1m])) / 2");
      expect(columns).to.deep.equal(['plan_type String', 'plan String']);
      expect(rows).to.deep.equal([
        [
          'logical_plan',
          'Evaluate: range=[0..10000], interval=[5000]\n  Binary: /\n    Aggregate: sum by (k)\n      Call: rate\n' +
            '        Range: test[1m]\n    Literal: 2',
        ],
        ['physical_plan', 'Read\n  Select: test'],
      ]);
      const [, json] = await table('TQL EXPLAIN FORMAT JSON test');
      expect(JSON.parse(String(json[0][1]))).to.include({ query: 'test', stepMs: 300_000 });
      const [, graph] = await table('TQL EXPLAIN VERBOSE FORMAT GRAPHVIZ test');
      expect(graph[0][1]).to.match(/^digraph \{\n[\s\S]* n0 -> n1\n\}$/);
    });

    it('print what was read', async () => {
      const [columns, rows] = await table("TQL ANALYZE (0, 10, '5s') sum(test)");
      expect(columns).to.deep.equal(['stage Int64', 'node Int64', 'plan String']);
      expect(rows.slice(1)).to.deep.equal([
        [1, 0, 'Select: {__name__="test"} series=2 samples=3'],
        [null, null, `Peak samples: ${String(rows[2][2]).split(' ').at(-1)}`],
        [null, null, 'Total rows: 2'],
      ]);
    });
  });

  describe('with hostile input', () => {
    fails("TQL EVAL (0, 1, '5s') sum(", 2000, /parse error: unclosed left parenthesis/);
    fails("TQL EVAL (0, 1, '5s') up[5m]", 2000, /^invalid expression type "range vector" for range query/);
    fails('TQL EVAL (0, 1, \'5s\') {__name__=~"t.*"}', 1004, 'Matcher operator =~ is not supported for __name__');
    fails('TQL EVAL (0, 1, \'5s\') {__name__!="t"}', 2000, /must contain at least one non-empty matcher/);
    fails('TQL EVAL (0, 1e12, 1) "x"', 2000, /^exceeded maximum resolution of 11,000 points/);
    fails("TQL EVAL (0, 1, '5s') test{k=\"", 2000, /parse error/);
    fails(`TQL EVAL (0, 1, '5s') ${'('.repeat(5000)}1${')'.repeat(5000)}`, 2000, /.+/);
    fails(`TQL EVAL (${'('.repeat(300)}1${')'.repeat(300)}, 1, 1) 1`, 2000, /nested deeper than 256/);
    fails('TQL EVAL (0, 1, 1) max_over_time(vector(1)[104w:1s])', 3001, /would load too many samples into memory/);

    it('is parsed before other statements of the request run', async () => {
      const { text } = await almanac.sql('CREATE TABLE early (ts TIMESTAMP TIME INDEX); TQL EVAL (0, 0, 1) sum(');
      expect(JSON.parse(text)).to.include({ code: 2000, statement_index: 1 });
      expect((await almanac.sql('DESC early')).text).to.contain('Table not found');
    });

    it('ends at its deadline', async () => {
      const startedMs = Date.now();
      const query = 'TQL EVAL (0, 10000, 1) quantile_over_time(0.5, vector(1)[1h:1s])';
      const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-almanac-timeout': '300ms' };
      const { status, text } = await almanac.post('/v1/sql', new URLSearchParams({ sql: query }).toString(), headers);
      expect([status, (JSON.parse(text) as { readonly code: number }).code]).to.deep.equal([408, 1008]);
      expect(Date.now() - startedMs).to.be.lessThan(5_000);
    });
  });
});
