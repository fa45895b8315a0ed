import { expect } from 'chai';

import { encoded, PromRig, read, type PromResponse } from '#test/support/prom-rig';

describe("Prometheus's HTTP API", () => {
  let rig: PromRig;

  before(async () => {
    rig = await PromRig.start();
  });

  after(() => rig.stop());
  afterEach(() => expect(rig.samples.openCount).to.equal(0));

  const RANGE = { start: '0', end: '600', step: '60' };

  it('evaluates instant queries', async () => {
    const { text, status } = await rig.get('/query', { query: 'up{job="b"} + 0.5', time: '60.5' });
    expect(status).to.equal(200);
    const vector = '[{"metric":{"instance":"3","job":"b"},"value":[60.500,"1.5"]}]';
    expect(text).to.equal(`{"status":"success","data":{"resultType":"vector","result":${vector}}}`);
    expect(await rig.result('1e21')).to.deep.equal([0, '1000000000000000000000']);
    expect(await rig.result('"text"')).to.deep.equal([0, 'text']);
    expect(await rig.result('absent_metric')).to.deep.equal([]);
    expect((await rig.get('/query', { query: '1+1', time: '4' })).text).to.equal(
      '{"status":"success","data":{"resultType":"scalar","result":[4,"2"]}}',
    );
  });

  it('returns the samples of a range selector', async () => {
    expect(await rig.result('up{job="b"}[2m]', '120')).to.deep.equal([
      {
        metric: { __name__: 'up', instance: '3', job: 'b' },
        values: [
          [60, '1'],
          [120, '2'],
        ],
      },
    ]);
  });

  it('writes floats as Prometheus does', async () => {
    const { json } = await rig.get('/query_range', { ...RANGE, query: 'big', end: '360' });
    const [{ values }] = (json['data'] as { result: { values: [number, string][] }[] }).result;
    expect(values.map(([, text]) => text)).to.deep.equal(['1e+21', '1e-07', '-0', '+Inf', '-Inf', 'NaN', '1.5e-10']);
  });

  it('reports that buckets had to be fixed, whatever the time', async () => {
    const bucket = (bound: string, count: number): string =>
      `label_replace(vector(${count}), "le", "${bound}", "", "")`;
    const query = `histogram_quantile(0.5, ${bucket('1', 2)} or ${bucket('+Inf', 1)})`;
    for (const [time, text] of [
      ['60.5', '1970-01-01T00:01:00Z'],
      ['-1.5', '1969-12-31T23:59:59Z'],
      ['9007199254740.991', '287396-10-12T08:59:00Z'],
    ]) {
      const { status, json } = await rig.get('/query', { query, time });
      expect(status).to.equal(200);
      expect(String(json['infos'])).to.contain(`over 1 samples from ${text} to ${text}`);
    }
  });

  it('writes histograms', async () => {
    const buckets = [
      [1, '-2', '-1', '2'],
      [3, '-0.001', '0.001', '1'],
      [0, '0.5', '1', '2'],
      [0, '1', '2', '1'],
    ];
    expect(await rig.result('latency')).to.deep.equal([
      { metric: { __name__: 'latency', job: 'a' }, histogram: [0, { count: '6', sum: '7.5', buckets }] },
    ]);
    const { json } = await rig.get('/query_range', { ...RANGE, query: 'latency', end: '60' });
    const [series] = (json['data'] as { result: Record<string, unknown>[] }).result;
    expect(Object.keys(series)).to.deep.equal(['metric', 'histograms']);
  });

  it('evaluates range queries, by labels', async () => {
    const { json } = await rig.get('/query_range', { ...RANGE, query: 'sum by (job) (up)', end: '60' });
    expect(json['data']).to.deep.equal({
      resultType: 'matrix',
      result: [
        {
          metric: { job: 'a' },
          values: [
            [0, '0'],
            [60, '2'],
          ],
        },
        {
          metric: { job: 'b' },
          values: [
            [0, '0'],
            [60, '1'],
          ],
        },
      ],
    });
    const scalar = await rig.get('/query_range', { ...RANGE, query: '1', end: '60' });
    expect(scalar.text).to.contain('{"resultType":"matrix","result":[{"metric":{},"values":[[0,"1"],[60,"1"]]}]}');
  });

  it('limits results and reports it', async () => {
    for (const [path, times] of [
      ['/query', { time: '0' }],
      ['/query_range', RANGE],
    ] as const) {
      const { json } = await rig.get(path, { ...times, query: 'up', limit: '2' });
      expect((json['data'] as { result: unknown[] }).result).to.have.length(2);
      expect(json['warnings']).to.deep.equal(['results truncated due to limit']);
      expect((await rig.get(path, { ...times, query: 'up', limit: '3' })).json).not.to.have.property('warnings');
    }
  });

  it('shows warnings and infos', async () => {
    const { json } = await rig.get('/query', { query: 'quantile(2, up) + rate(up[5m])', time: '300' });
    expect(json['warnings']).to.deep.equal(['PromQL warning: quantile value should be between 0 and 1, got 2 (1:10)']);
    expect(json['infos']).to.have.length(1);
  });

  it('returns statistics', async () => {
    const { json } = await rig.get('/query_range', { ...RANGE, query: 'rate(up[2m])', end: '120', stats: 'all' });
    const { stats } = json['data'] as { stats: { samples: Record<string, unknown>; timings: Record<string, unknown> } };
    expect(stats.samples['totalQueryableSamples']).to.equal(3 * (1 + 2 + 2));
    expect(stats.samples['totalQueryableSamplesPerStep']).to.deep.equal([
      [0, 3],
      [60, 6],
      [120, 6],
    ]);
    expect(stats.samples['samplesReadPerStep']).to.deep.equal([
      [0, 3],
      [60, 3],
      [120, 3],
    ]);
    expect(stats.timings).to.have.all.keys(
      ...['evalTotalTime', 'resultSortTime', 'queryPreparationTime', 'innerEvalTime', 'execQueueTime', 'execTotalTime'],
    );
    const plain = await rig.get('/query', { query: 'up', time: '60', stats: 'true' });
    const { samples: counts } = (plain.json['data'] as { stats: { samples: unknown } }).stats;
    expect(counts).to.include({ totalQueryableSamples: 3, samplesRead: 6 });
    expect(plain.json).not.to.have.property('warnings');
    expect((await rig.get('/query', { query: 'up', stats: 'yes' })).json['warnings']).to.have.length(1);
  });

  it('lists labels, values and series', async () => {
    const data = async (path: string, parameters: Record<string, string | readonly string[]> = {}): Promise<unknown> =>
      (await rig.get(path, parameters)).json['data'];
    expect(await data('/labels')).to.deep.equal(['__name__', 'a.b', 'instance', 'job']);
    expect(await data('/labels', { 'match[]': 'up' })).to.deep.equal(['__name__', 'instance', 'job']);
    expect(await data('/labels', { 'match[]': 'nothing' })).to.deep.equal([]);
    expect(await data('/label/__name__/values')).to.deep.equal(['big', 'latency', 'other_total', 'up']);
    expect(await data('/label/job/values', { 'match[]': ['up{instance="1"}', '{instance="3"}'] })).to.deep.equal([
      'a',
      'b',
    ]);
    for (const name of ['a.b', 'a%2Eb', 'U__a_2e_b']) expect(await data(`/label/${name}/values`)).to.deep.equal(['c']);
    expect(await data('/label/nothing/values')).to.deep.equal([]);
    expect(await data('/series', { 'match[]': ['up{job="b"}', 'up{instance="3"}'] })).to.deep.equal([
      { __name__: 'up', instance: '3', job: 'b' },
    ]);
    expect(await data('/series', { 'match[]': 'up', start: '601', end: '700' })).to.deep.equal([]);
    const cut = await rig.get('/label/__name__/values', { limit: '1' });
    expect(cut.json).to.deep.equal({ status: 'success', data: ['big'], warnings: ['results truncated due to limit'] });
  });

  it('searches several databases', async () => {
    const names = async (db: string, headers: Record<string, string> = {}): Promise<unknown> => {
      const url = `${rig.gateway.url}/v1/prometheus/api/v1/label/__name__/values${db === '' ? '' : `?db=${db}`}`;
      return (await read(await fetch(url, { headers }))).json['data'];
    };
    expect(await names('elsewhere')).to.deep.equal(['far']);
    expect(await names('', { 'x-greptime-db-name': 'elsewhere' })).to.deep.equal(['far']);
    expect(await names('elsewhere', { 'x-almanac-db-name': 'public' })).to.deep.equal(['far']);
    const form = new URLSearchParams({ query: 'far', time: '0', db: 'elsewhere' });
    const posted = await read(
      await fetch(`${rig.gateway.url}/v1/prometheus/api/v1/query`, { method: 'POST', body: form }),
    );
    expect((posted.json['data'] as { result: unknown[] }).result).to.have.length(1);
    expect(await rig.result('{__database__="elsewhere",place="there"} + on () group_left () big')).to.have.length(1);
    expect(await rig.result('far{__schema__="elsewhere"}')).to.deep.equal([
      { metric: { __name__: 'far', place: 'there' }, value: [0, '0'] },
    ]);
    const unknown = await rig.get('/query', { query: 'up', db: 'nowhere' });
    expect(unknown.json).to.deep.equal({
      status: 'success',
      data: { resultType: 'vector', result: [] },
      warnings: ['Database not found: nowhere'],
    });
    for (const label of ['__database__', '__schema__', 'x_greptime_database']) {
      expect((await rig.get(`/label/${label}/values`)).json['data']).to.deep.equal(['elsewhere', 'public']);
      expect((await rig.get(`/label/${label}/values`, { 'match[]': 'far' })).json['data']).to.deep.equal(['elsewhere']);
    }
  });

  it('formats queries and returns their trees', async () => {
    const query = 'sum(rate(foo{b="1",a=~"x.*"}[5m] offset 1h @ 1609746000)) by(x)';
    expect((await rig.get('/format_query', { query })).json['data']).to.equal(
      'sum by (x) (rate(foo{a=~"x.*",b="1"}[5m] @ 1609746000.000 offset 1h))',
    );
    const tree = (await rig.get('/parse_query', { query: 'x > 1' })).json['data'];
    expect(tree).to.deep.include({
      type: 'binaryExpr',
      op: '>',
      bool: false,
      rhs: { type: 'numberLiteral', val: '1' },
    });
    const text = '-(sum by (job) (rate(x[5m] offset 1m)) / on(job) (y @ end() + 1))';
    const placed = (await rig.get('/parse_query', { query: text, positions: 'true' })).json['data'];
    const texts: string[] = [];
    JSON.stringify(placed, (_, value: unknown) => {
      const { type, start, end } = (value ?? {}) as { type?: string; start?: number; end?: number };
      if (start !== undefined) texts.push(`${type} ${text.slice(start, end)}`);
      return value;
    });
    expect(texts).to.deep.equal([
      `unaryExpr ${text}`,
      `parenExpr ${text.slice(1)}`,
      `binaryExpr ${text.slice(2, -1)}`,
      'aggregation sum by (job) (rate(x[5m] offset 1m))',
      'call rate(x[5m] offset 1m)',
      'matrixSelector x[5m] offset 1m',
      'parenExpr (y @ end() + 1)',
      'binaryExpr y @ end() + 1',
      'vectorSelector y @ end()',
      'numberLiteral 1',
    ]);
  });

  it('returns metadata and exemplars', async () => {
    const up = [{ type: 'gauge', help: 'is it up', unit: '' }];
    expect((await rig.get('/metadata', { limit: '1' })).json).to.deep.equal({ status: 'success', data: { up } });
    expect((await rig.get('/metadata', { limit: '0' })).json['data']).to.deep.equal({});
    const one = (await rig.get('/metadata', { limit_per_metric: '1' })).json['data'] as Record<string, unknown[]>;
    expect(one['x_total']).to.have.length(1);
    const { json } = await rig.get('/query_exemplars', { query: 'rate(up[5m])' });
    const exemplars = [{ labels: { trace_id: 'x' }, value: '6', timestamp: 1600096945.479 }];
    expect(json['data']).to.deep.equal([{ seriesLabels: { __name__: 'up' }, exemplars }]);
    expect((await rig.get('/query_exemplars', { query: '1' })).json['data']).to.deep.equal([]);
  });

  it('returns facts about the series', async () => {
    const facts = (await rig.get('/status/tsdb')).json['data'] as Record<string, unknown>;
    expect(facts['headStats']).to.include({ numSeries: 6 });
    expect(facts['seriesCountByMetricName']).to.deep.equal([{ name: 'up', value: 6 }]);
    expect(await rig.error('/status/tsdb', { limit: '0' })).to.deep.equal([
      400,
      'bad_data',
      'limit must be a positive number',
    ]);
  });

  it('serves /v1/promql with a table', async () => {
    const ask = async (parameters: Record<string, string>): Promise<PromResponse> =>
      read(await fetch(`${rig.gateway.url}/v1/promql?${encoded(parameters)}`));
    const records = async (query: string): Promise<{ schema: { column_schemas: unknown[] }; rows: unknown[][] }> => {
      const { json } = await ask({ query, start: '0', end: '60', step: '1m' });
      return (json['output'] as { records: Awaited<ReturnType<typeof records>> }[])[0].records;
    };
    const scalar = await records('1');
    expect(scalar.schema.column_schemas).to.deep.equal([
      { name: 'time', data_type: 'TimestampMillisecond' },
      { name: 'value', data_type: 'Float64' },
    ]);
    expect(scalar.rows).to.deep.equal([
      [0, 1],
      [60_000, 1],
    ]);
    const sums = await records('sum by (job) (up)');
    expect(sums.schema.column_schemas.map((column) => (column as { name: string }).name)).to.deep.equal([
      ...['job', 'almanac_timestamp', 'sum by (job) (up)'],
    ]);
    expect(sums.rows).to.deep.equal([
      ['a', 0, 0],
      ['a', 60_000, 2],
      ['b', 0, 0],
      ['b', 60_000, 1],
    ]);
    const metric = await records('latency');
    expect(metric.schema.column_schemas.map((column) => (column as { name: string }).name)).to.deep.equal([
      ...['job', 'almanac_timestamp', 'almanac_value', 'almanac_native_histogram'],
    ]);
    expect((await records('nothing')).rows).to.deep.equal([]);
    const refused = await ask({ query: 'up', start: '0', end: '60' });
    expect(refused.json).to.deep.include({ code: 1004, error: 'step parameter is required.' });
    expect((await ask({ query: 'sum(', start: '0', end: '1', step: '1' })).json).to.deep.include({ code: 2000 });
    const times = { start: '0', end: '1', step: '1' };
    expect((await ask({ query: 'up', db: 'nowhere', ...times })).json).to.deep.include({ code: 4004 });
  });
});
