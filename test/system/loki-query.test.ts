import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const BASE = '/v1/loki/loki/api/v1';
const JSON_TYPE = { 'content-type': 'application/json' };
const START_S = 1_700_000_000;
const RANGE = { start: `${START_S}000000000`, end: `${START_S + 60}000000000` };
const END = { time: `${START_S + 60}000000000` };

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

interface Stream {
  readonly stream: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [string, string, Readonly<Record<string, unknown>>?])[];
}

interface Envelope {
  readonly status: string;
  readonly data: {
    readonly resultType: string;
    readonly result: unknown;
    readonly stats: { readonly summary: unknown };
  };
}

/** Twenty lines of one second each, in turn JSON and logfmt, with one of three traces. */
function lines(): unknown[] {
  return Array.from({ length: 20 }, (_none, i) => {
    const json = JSON.stringify({ level: 'error', status: 500 + i, took: `${i}ms` });
    const logfmt = `level=info status=${200 + i} took=${i}ms msg="it's fine"`;
    return [`${START_S + i}000000000`, i % 2 === 0 ? json : logfmt, { trace_id: `t${i % 3}` }];
  });
}

describe('query API of Loki', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  function get(path: string, parameters: Readonly<Record<string, string>> = {}, headers = {}): Promise<Response> {
    return fetch(`${almanac.url}${BASE}/${path}?${new URLSearchParams(parameters).toString()}`, { headers });
  }

  async function json<T>(path: string, parameters: Readonly<Record<string, string>> = {}, headers = {}): Promise<T> {
    const reply = await get(path, parameters, headers);
    const text = await reply.text();
    expect(reply.status, text).to.equal(200);
    return JSON.parse(text) as T;
  }

  async function streams(query: string, more: Readonly<Record<string, string>> = {}, headers = {}): Promise<Stream[]> {
    const { data } = await json<Envelope>('query_range', { query, ...RANGE, ...more }, headers);
    expect(data.resultType).to.equal('streams');
    return data.result as Stream[];
  }

  async function vector(query: string, more: Readonly<Record<string, string>> = END): Promise<Record<string, number>> {
    const { data } = await json<Envelope>('query', { query, ...more });
    expect(data.resultType).to.equal('vector');
    const samples = data.result as Sample[];
    return Object.fromEntries(samples.map(({ metric, value }) => [JSON.stringify(metric), Number(value![1])]));
  }

  async function errorOf(path: string, parameters: Readonly<Record<string, string>>, status = 400): Promise<string> {
    const reply = await get(path, parameters);
    expect(reply.status).to.equal(status);
    expect(reply.headers.get('content-type')).to.contain('text/plain');
    return reply.text();
  }

  describe('without a table', () => {
    it('passes the check of a data source of Grafana', async () => {
      const query = 'vector(1)+vector(1)';
      const { status, data } = await json<Envelope>('query', { query, time: '4000000000', direction: 'backward' });
      expect(status).to.equal('success');
      expect(data).to.include({ resultType: 'vector' });
      expect(data.result).to.deep.equal([{ metric: {}, value: [4_000_000_000, '2'] }]);
    });

    it('returns empty lists', async () => {
      expect(await streams('{}')).to.deep.equal([]);
      expect(await vector('count_over_time({a="b"}[1m])')).to.deep.equal({});
      expect(await vector('absent_over_time({a="b"}[1m])')).to.deep.equal({ '{"a":"b"}': 1 });
      for (const path of ['labels', 'label/app/values', 'series']) {
        expect(await json(path)).to.deep.equal({ status: 'success', data: [] });
      }
      expect(await json('index/stats')).to.deep.equal({ streams: 0, chunks: 0, bytes: 0, entries: 0 });
      expect(await json('detected_fields')).to.deep.equal({ fields: [], limit: 1000 });
    });

    it('reports errors all the same', async () => {
      expect(await errorOf('query_range', { query: '{} | regexp "("' })).to.contain('error parsing regexp');
      expect(await errorOf('query', { query: 'rate({} | json a="[" [1m])' })).to.contain('cannot parse expression');
    });
  });

  describe('with lines', () => {
    before(async () => {
      const body = JSON.stringify({
        streams: [
          { stream: { app: 'shop', host: 'h1' }, values: lines() },
          { stream: { app: 'bank' }, values: lines().slice(0, 3) },
        ],
      });
      const half = await almanac.post(`${BASE}/push`, body, JSON_TYPE);
      expect(half.status, half.text).to.equal(204);
      // One half of the tests would pass on rows in memory alone.
      await almanac.flush('loki_logs');
    });

    it('returns lines, the newest first, with their metadata as labels', async () => {
      const found = await streams('{app="shop"}', { limit: '2' });
      const logfmt = 'level=info status=219 took=19ms msg="it\'s fine"';
      const stream = { app: 'shop', host: 'h1' };
      expect(found).to.deep.equal([
        { stream: { ...stream, trace_id: 't1' }, values: [[`${START_S + 19}000000000`, logfmt]] },
        {
          stream: { ...stream, trace_id: 't0' },
          values: [[`${START_S + 18}000000000`, '{"level":"error","status":518,"took":"18ms"}']],
        },
      ]);
    });

    it('returns labels of lines apart from those of streams if the client requests it', async () => {
      const headers = { 'X-Loki-Response-Encoding-Flags': 'categorize-labels' };
      const parameters = { query: '{app="shop"} |= "219" | logfmt', ...RANGE };
      const { data } = await json<Envelope & { data: { encodingFlags: string[] } }>('query_range', parameters, headers);
      expect(data.encodingFlags).to.deep.equal(['categorize-labels']);
      const [{ stream, values }] = data.result as Stream[];
      expect(stream).to.deep.equal({ app: 'shop', host: 'h1' });
      expect(values[0][2]).to.deep.equal({
        structuredMetadata: { trace_id: 't1' },
        parsed: { level: 'info', msg: "it's fine", status: '219', took: '19ms' },
      });
    });

    it('orders, limits and thins out', async () => {
      const times = async (more: Readonly<Record<string, string>>): Promise<number[]> => {
        const found = await streams('{app="shop"}', more);
        return found.flatMap(({ values }) => values.map(([time]) => Number(time.slice(0, 10)) - START_S));
      };
      const forward = await times({ direction: 'forward', limit: '3' });
      expect(forward.sort((a, b) => a - b)).to.deep.equal([0, 1, 2]);
      const thin = await times({ direction: 'FORWARD', interval: '5s' });
      expect(thin.sort((a, b) => a - b)).to.deep.equal([0, 5, 10, 15]);
      // The start is included, the end is not.
      const part = await times({ start: `${START_S + 3}`, end: `${START_S + 5}.000` });
      expect(part.sort((a, b) => a - b)).to.deep.equal([3, 4]);
      expect(await times({ limit: '0' })).to.deep.equal([]);
      const iso = await times({ start: '2023-11-14T22:13:38Z', end: '2023-11-14T22:13:38.000000001Z' });
      expect(iso).to.deep.equal([18]);
      const since = await times({ start: '', since: '1m30s', end: `${START_S + 1}` });
      expect(since).to.deep.equal([0]);
    });

    const counted: readonly (readonly [query: string, count: number])[] = [
      ['{}', 23],
      ['{app=""}', 0],
      ['{none=""}', 23],
      ['{host=""}', 3],
      ['{host!=""}', 20],
      ['{app=~"sh.*|bank"}', 23],
      ['{app!~"sh.*"}', 3],
      ['{app="sho"}', 0],
      ['{app="shop"} |= "it\'s"', 10],
      ['{app="shop"} != "it\'s" |~ "status.+5[01]\\\\d"', 10],
      ['{app="shop"} |= "took=1ms" or "took=3ms"', 2],
      ['{app="shop"} | trace_id="t0"', 7],
      ['{app="shop"} | trace_id!="t0" and trace_id=~"t.*"', 13],
      ['{app="shop"} | json | __error__=""', 10],
      ['{app="shop"} | json | __error__!=""', 10],
      ['{app="shop"} | json | status >= 510 | __error__=""', 5],
      ['{app="shop"} | json |= "518" | __error__=""', 1],
      ['{app="shop"} | logfmt | took > 10ms', 5],
      ['{app="shop"} | logfmt | status="201" and level="info"', 1],
      ['{app="shop"} | logfmt | trace_id="t0" and level="info"', 3],
      ['{app="shop"} | logfmt | app_extracted=""', 20],
      ['{app="shop"} | logfmt | label_format level=`none` | level="none"', 20],
      ['{app="shop"} | logfmt | level="info" | line_format "x{{.status}}" |= "x21"', 5],
      ['{app="shop"} |> "level=<_> status=201 <_>"', 1],
    ];
    for (const [query, count] of counted) {
      it(`finds ${count} lines by ${query}`, async () => {
        const found = await streams(query, { limit: '1000' });
        expect(found.reduce((sum, { values }) => sum + values.length, 0)).to.equal(count);
        // The same filters count in the engine, where they can.
        const errors = query.includes('json') && !query.includes('__error__=""') ? ' | drop __error__' : '';
        const total = await vector(`sum(count_over_time(${query}${errors} [2m]))`);
        expect(total['{}'] ?? 0).to.equal(count);
      });
    }

    const computed: readonly (readonly [query: string, result: Readonly<Record<string, number>>])[] = [
      ['sum by (app) (count_over_time({}[1m]))', { '{"app":"shop"}': 19, '{"app":"bank"}': 2 }],
      ['sum by (app) (rate({app="bank"}[1m]))', { '{"app":"bank"}': 2 / 60 }],
      ['sum(bytes_over_time({app="bank"} |= "level=info"[2m]))', { '{}': 46 }],
      ['sum(bytes_rate({app="bank"} | logfmt | level="info" [90s]))', { '{}': 46 / 90 }],
      ['sum without (trace_id, host) (count_over_time({app="bank"}[1m]))', { '{"app":"bank"}': 2 }],
      ['sum by (trace_id) (count_over_time({app="shop"} |= "info" [2m])) > 3', { '{"trace_id":"t1"}': 4 }],
      ['topk(1, sum by (app) (count_over_time({}[1m])))', { '{"app":"shop"}': 19 }],
      ['bottomk(1, sum by (app) (count_over_time({}[1m])))', { '{"app":"bank"}': 2 }],
      ['count(sum by (app) (count_over_time({}[1m])))', { '{}': 2 }],
      ['avg(sum by (app) (count_over_time({}[1m])))', { '{}': 10.5 }],
      ['stddev(sum by (app) (count_over_time({}[1m])))', { '{}': 8.5 }],
      ['max(sum by (app) (count_over_time({}[1m]))) - 1', { '{}': 18 }],
      ['count_over_time({app="bank"} | keep app [1m] offset 58s)', { '{"app":"bank"}': 3 }],
      ['sum_over_time({app="shop"} | logfmt | keep status | unwrap status [2m])', { '{}': 2100 }],
      ['avg_over_time({app="shop"} | logfmt | unwrap status [2m]) by (app)', { '{"app":"shop"}': 210 }],
      ['min_over_time({app="shop"} | logfmt | unwrap status [2m]) by ()', { '{}': 201 }],
      ['max_over_time({app="shop"} | logfmt | unwrap duration(took) [2m]) by ()', { '{}': 0.019 }],
      ['first_over_time({app="shop"} | logfmt | unwrap status [2m]) by ()', { '{}': 201 }],
      ['last_over_time({app="shop"} | logfmt | unwrap status [2m]) by ()', { '{}': 219 }],
      ['quantile_over_time(0.5, {app="shop"} | logfmt | unwrap status [2m]) by ()', { '{}': 210 }],
      ['stdvar_over_time({app="shop"} | logfmt | unwrap status [2m]) by ()', { '{}': 33 }],
      ['sum(rate_counter({app="shop"} | logfmt | keep status | unwrap status [20s] offset 40s))', { '{}': 18 / 20 }],
      ['sum by (app) (rate({app="bank"}[2m])) / sum by (app) (rate({app="bank"}[2m]))', { '{"app":"bank"}': 1 }],
      ['sum(count_over_time({app="bank"}[2m])) / on () sum(count_over_time({app="shop"}[2m]))', { '{}': 0.15 }],
      [
        'sum by (app) (count_over_time({}[2m])) / on () group_left sum(count_over_time({}[2m]))',
        { '{"app":"shop"}': 20 / 23, '{"app":"bank"}': 3 / 23 },
      ],
      [
        'sum by (app) (count_over_time({}[2m])) unless sum by (app) (count_over_time({app="bank"}[2m]))',
        { '{"app":"shop"}': 20 },
      ],
      [
        'label_replace(sum by (app) (rate({app="bank"}[2m])), "b", "${1}k", "app", "(ban)k")',
        { '{"app":"bank","b":"bank"}': 0.025 },
      ],
      ['absent_over_time({app="shop"}[1m])', {}],
      ['vector(2) ^ 3', { '{}': 8 }],
    ];
    for (const [query, expected] of computed) {
      it(`computes ${query}`, async () => {
        const found = await vector(query);
        expect(Object.keys(found).sort()).to.deep.equal(Object.keys(expected).sort());
        for (const [key, value] of Object.entries(expected)) expect(found[key]).to.be.closeTo(value, 1e-9);
      });
    }

    it('computes steps alike in the engine and line by line', async () => {
      const matrix = async (query: string, step: string): Promise<Sample[]> => {
        const { data } = await json<Envelope>('query_range', { query, step, ...RANGE });
        expect(data.resultType).to.equal('matrix');
        return data.result as Sample[];
      };
      const key = ({ metric }: Sample): string => JSON.stringify(metric);
      for (const [range, step] of [
        ['10s', '10s'],
        ['10000ms', '7'],
        ['3s', '20s'],
        ['1m', '0.5'],
      ]) {
        const inEngine = await matrix(`sum by (app) (count_over_time({} [${range}]))`, step);
        const byLine = await matrix(`sum by (app) (count_over_time({} | label_format x=y [${range}]))`, step);
        expect(inEngine.length).to.equal(2);
        expect(inEngine.sort((a, b) => (key(a) < key(b) ? -1 : 1))).to.deep.equal(
          byLine.sort((a, b) => (key(a) < key(b) ? -1 : 1)),
        );
      }
      const [bank] = await matrix('sum(count_over_time({app="bank"}[10s]))', '10s');
      expect(bank.values).to.deep.equal([
        [START_S, '1'],
        [START_S + 10, '2'],
      ]);
    });

    it('reports the error of a line that a query for numbers cannot read', async () => {
      const error = await errorOf('query', { query: 'sum(count_over_time({app="shop"} | json [1m]))', ...END });
      expect(error).to.contain("pipeline error: 'JSONParserErr' for series: '{").and.to.contain('__error__=""');
      const query = 'sum_over_time({app="shop"} | logfmt | unwrap msg [1m])';
      expect(await errorOf('query', { query, ...END })).to.contain('SampleExtractionErr');
      expect(await vector('sum_over_time({app="shop"} | logfmt | unwrap msg | __error__="" [1m])')).to.deep.equal({});
    });

    it('lists labels, values, series and fields', async () => {
      expect(await json('labels', RANGE)).to.deep.equal({ status: 'success', data: ['app', 'host'] });
      expect(await json('labels', { start: '0', end: '1' })).to.deep.equal({ status: 'success', data: [] });
      expect(await json('label/app/values', RANGE)).to.deep.equal({ status: 'success', data: ['bank', 'shop'] });
      const limited = await json('label/app/values', { ...RANGE, query: '{host="h1"}' });
      expect(limited).to.deep.equal({ status: 'success', data: ['shop'] });
      const series = await json('series', { ...RANGE, 'match[]': '{app="bank"}' });
      expect(series).to.deep.equal({ status: 'success', data: [{ app: 'bank' }] });
      const detected = await json('detected_labels', RANGE);
      expect(detected).to.deep.equal({
        detectedLabels: [
          { label: 'app', cardinality: 2 },
          { label: 'host', cardinality: 1 },
        ],
      });
      const { fields } = await json<{ fields: unknown[] }>('detected_fields', { ...RANGE, query: '{app="shop"}' });
      expect(fields).to.deep.include.members([
        { label: 'trace_id', type: 'string', cardinality: 3, parsers: null },
        { label: 'took', type: 'duration', cardinality: 20, parsers: ['logfmt'] },
        { label: 'status', type: 'int', cardinality: 20, parsers: ['logfmt'] },
      ]);
      const { values } = await json<{ values: string[] }>('detected_field/level/values', RANGE);
      expect(values.sort()).to.deep.equal(['error', 'info']);
    });

    it('reports sizes of streams', async () => {
      expect(await json('index/stats', { ...RANGE, query: '{app="bank"}' })).to.deep.equal({
        streams: 1,
        chunks: 1,
        entries: 3,
        bytes: 46 + 2 * 43,
      });
      const volume = await json<Envelope>('index/volume', { ...RANGE, query: '{app=~".+"}', limit: '1' });
      expect((volume.data.result as Sample[]).map(({ metric }) => metric)).to.deep.equal([{ app: 'shop' }]);
      const byLabel = await json<Envelope>('index/volume', { ...RANGE, query: '{}', aggregateBy: 'labels' });
      expect((byLabel.data.result as Sample[]).map(({ metric }) => metric)).to.deep.equal([{ app: '' }, { host: '' }]);
      const range = await json<Envelope>('index/volume_range', {
        ...RANGE,
        query: '{}',
        targetLabels: 'host',
        step: '30s',
      });
      expect(range.data.resultType).to.equal('matrix');
    });

    it('accepts forms, under all bases', async () => {
      for (const base of ['/v1/loki/api/v1', '/v1/logpush/api/v1', '/v1/logpush/loki/api/v1', BASE]) {
        const form = new URLSearchParams({ query: '{app="bank"}', ...RANGE });
        const reply = await fetch(`${almanac.url}${base}/query_range`, { method: 'POST', body: form });
        expect(((await reply.json()) as Envelope).data.result).to.have.length(3);
      }
      const selectors = new URLSearchParams([
        ['match[]', '{app="bank"}'],
        ['match[]', '{host="h1"}'],
        ...Object.entries(RANGE),
      ]);
      const series = await fetch(`${almanac.url}${BASE}/series`, { method: 'POST', body: selectors });
      expect(((await series.json()) as { data: unknown[] }).data).to.have.length(2);
    });

    it('formats queries and reports a version', async () => {
      const formatted = await json('format_query', { query: 'sum(rate({a="b"}|="c"[5m]))by(d)' });
      expect(formatted).to.deep.equal({ status: 'success', data: 'sum by (d)(rate({a="b"} |= "c" [5m]))' });
      expect(await json<Record<string, string>>('status/buildinfo')).to.have.property('version', '3.4.0');
    });

    it('replies 404 to helpers that it lacks, which Grafana does without', async () => {
      expect((await get('patterns', { query: '{}' })).status).to.equal(404);
    });

    it('reads tables of other protocols', async () => {
      const time = `${START_S}000000000`;
      await almanac.rows(
        'CREATE TABLE app_logs (ts TIMESTAMP(3) TIME INDEX, "k8s.pod" STRING, message STRING, level STRING, n BIGINT, PRIMARY KEY ("k8s.pod")) WITH (append_mode = \'true\')',
      );
      await almanac.rows(`INSERT INTO app_logs VALUES (${time.slice(0, 13)}, 'p1', 'it began', 'warn', 7)`);
      const [found] = await streams('{k8s_pod="p1", level=~"w.*"} |= "began" | n > 6', { table: 'app_logs' });
      expect(found.stream).to.deep.equal({ k8s_pod: 'p1', level: 'warn', n: '7' });
      expect(found.values).to.deep.equal([[time, 'it began']]);
      expect(await errorOf('query_range', { query: '{}', db: 'none' })).to.contain('none');
      await almanac.written('no_texts value=1');
      expect(await errorOf('query_range', { query: '{}', table: 'no_texts' })).to.contain('does not hold logs');
    });

    const refused: readonly (readonly [
      name: string,
      path: string,
      parameters: Readonly<Record<string, string>>,
      error: string,
    ])[] = [
      ['no query', 'query_range', {}, 'unexpected $end'],
      ['lines at one time', 'query', { query: '{}' }, 'not supported as an instant query type'],
      [
        'too many steps',
        'query_range',
        { query: 'vector(1)', step: '1ms', ...RANGE },
        'exceeded maximum resolution of 11,000 points',
      ],
      ['a step of 0', 'query_range', { query: 'vector(1)', step: '0' }, 'zero or negative query resolution'],
      [
        'too many lines',
        'query_range',
        { query: '{}', limit: '5001' },
        'max entries limit per query exceeded, limit > max_entries_limit_per_query (5001 > 5000)',
      ],
      ['a limit that is no number', 'query_range', { query: '{}', limit: 'x' }, "parameter 'limit'"],
      ['a malformed time', 'query_range', { query: '{}', start: 'yesterday' }, "could not parse 'start' parameter"],
      [
        'an end before the start',
        'query_range',
        { query: '{}', start: '2', end: '1' },
        'end timestamp must not be before',
      ],
      ['an unknown direction', 'query_range', { query: '{}', direction: 'up' }, "invalid direction 'up'"],
      ['a query for numbers as a selector', 'labels', { query: 'vector(1)' }, 'only label matchers'],
      ['a huge expression', 'query_range', { query: `{} |~ "${'(a|b)'.repeat(2_000)}"` }, 'longer than 8192 bytes'],
      ['an exploding expression', 'query_range', { query: '{} |~ "((a{1000}){1000}){1000}"' }, 'error parsing regexp'],
      ['deep nesting', 'query', { query: '('.repeat(3_000) }, 'nested more than'],
      [
        'many-to-many matching',
        'query',
        { query: 'count_over_time({}[2m]) / on (app) count_over_time({}[2m])', ...END },
        'multiple matches for labels',
      ],
      ['a set operation with a number', 'query', { query: '1 and vector(1)' }, 'both sides must be vectors'],
    ];
    for (const [name, path, parameters, error] of refused) {
      it(`refuses ${name}`, async () => expect(await errorOf(path, parameters)).to.contain(error));
    }

    it('survives the range of all times', async () => {
      const all = { start: '-9223372036854775808', end: '9223372036854775807' };
      expect(await streams('{app="bank"} | json | __error__=""', all)).to.have.length(2);
      const total = await vector('sum(count_over_time({}[290y]))');
      expect(total['{}']).to.equal(23);
      const error = await errorOf('query_range', { query: 'sum(rate({}[1ns]))', step: '1ns', ...all });
      expect(error).to.contain('exceeded maximum resolution');
    });
  });
});
