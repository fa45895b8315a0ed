import { expect } from 'chai';

import { describeCalls, grafanaHeaders, type RecordedCall } from '#test/support/recorded-calls';

const START_S = 1_700_000_000;
const API = '/loki/api/v1';
const RANGE = { start: `${START_S}000000000`, end: `${START_S + 60}000000000` };
/** Grafana wants labels of lines apart from those of streams. */
const QUERY = { 'x-loki-response-encoding-flags': 'categorize-labels' };

interface Envelope {
  readonly status: string;
  readonly data: { readonly resultType: string; readonly result: never };
}

interface Stream {
  readonly stream: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [string, string, { readonly structuredMetadata?: object }])[];
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

type Holds = NonNullable<RecordedCall['holds']>;

const parameters = (values: Readonly<Record<string, string>>): string => new URLSearchParams(values).toString();

const result =
  (type: string, check: (found: never) => void): Holds =>
  (reply) => {
    const { status, data } = reply.json() as Envelope;
    expect([status, data.resultType]).to.deep.equal(['success', type]);
    check(data.result);
  };

const is =
  (expected: unknown): Holds =>
  (reply) => {
    expect(reply.json()).to.deep.equal(expected);
  };

const rangeOf = (query: string, more: Readonly<Record<string, string>> = {}): string =>
  `${API}/query_range?${parameters({ direction: 'backward', ...RANGE, query, step: '2000ms', ...more })}`;

const CALLS: readonly RecordedCall[] = [
  {
    purpose: 'saves and tests the data source',
    path: `${API}/query?${parameters({ direction: 'backward', query: 'vector(1)+vector(1)', time: '4000000000' })}`,
    headers: QUERY,
    holds: result('vector', (samples: unknown) => {
      expect(samples).to.deep.equal([{ metric: {}, value: [4_000_000_000, '2'] }]);
    }),
  },
  {
    purpose: 'shows lines',
    path: rangeOf('{app="shop"} |= `level`', { limit: '1000' }),
    headers: QUERY,
    holds: result('streams', (streams: Stream[]) => {
      expect(streams.map(({ stream, values }) => [stream, values.length])).to.deep.equal([[{ app: 'shop' }, 40]]);
      const [time, line, more] = streams[0].values[0];
      expect([time, line]).to.deep.equal([`${START_S + 39}000000000`, 'level=info status=239 took=39ms']);
      expect(more.structuredMetadata).to.deep.equal({ trace_id: 't0' });
    }),
  },
  {
    purpose: 'shows lines of all streams',
    path: rangeOf('{}', { limit: '1000' }),
    headers: QUERY,
    holds: result('streams', (streams: Stream[]) => expect(streams).to.have.length(1)),
  },
  {
    purpose: 'shows no lines',
    path: rangeOf('{app="none"}', { limit: '1000' }),
    headers: QUERY,
    holds: result('streams', (streams: unknown) => expect(streams).to.deep.equal([])),
  },
  {
    purpose: 'draws the volume of logs',
    path: rangeOf('sum by (level) (count_over_time({app="shop"} |= `level` | logfmt | drop __error__ [2000ms]))'),
    headers: { ...QUERY, 'x-query-tags': 'Source=logvolhist' },
    holds: result('matrix', (series: Series[]) => {
      const byLevel = Object.fromEntries(series.map(({ metric, values }) => [metric['level'], values]));
      expect(Object.keys(byLevel)).to.have.members(['error', 'info']);
      expect(byLevel['error'].slice(0, 2)).to.deep.equal([
        [START_S, '1'],
        [START_S + 2, '1'],
      ]);
      expect(byLevel['info'][0]).to.deep.equal([START_S + 2, '1']);
    }),
  },
  {
    purpose: 'draws a rate',
    path: rangeOf('sum(rate({app="shop"} | json | logfmt | status >= 200 | __error__="" [10s]))'),
    headers: QUERY,
    holds: result('matrix', (series: unknown) => expect(series).to.be.an('array')),
  },
  {
    purpose: 'evaluates at one time',
    path: `${API}/query?${parameters({ direction: 'backward', query: 'topk(1, sum by (app) (count_over_time({app="shop"}[1m])))', time: RANGE.end })}`,
    headers: QUERY,
    holds: result('vector', (samples: unknown) => {
      expect(samples).to.deep.equal([{ metric: { app: 'shop' }, value: [START_S + 60, '39'] }]);
    }),
  },
  {
    purpose: 'lists labels',
    path: `${API}/labels?${parameters(RANGE)}`,
    holds: is({ status: 'success', data: ['app'] }),
  },
  {
    purpose: 'lists labels where there are none',
    path: `${API}/labels?start=1000000000000000000&end=1000000060000000000`,
    holds: is({ status: 'success', data: [] }),
  },
  {
    purpose: 'lists values of a label',
    path: `${API}/label/app/values?${parameters({ ...RANGE, query: '{app=~".+"}' })}`,
    holds: is({ status: 'success', data: ['shop'] }),
  },
  {
    purpose: 'lists series',
    path: `${API}/series?${parameters({ 'match[]': '{app="shop"}', ...RANGE })}`,
    holds: is({ status: 'success', data: [{ app: 'shop' }] }),
  },
  {
    purpose: 'lists series of all streams',
    path: `${API}/series?${parameters({ 'match[]': '{}', ...RANGE })}`,
    holds: is({ status: 'success', data: [{ app: 'shop' }] }),
  },
  {
    purpose: 'estimates the size of a query',
    path: `${API}/index/stats?${parameters({ ...RANGE, query: '{app="shop"}' })}`,
    holds: (reply) => expect(reply.json()).to.include({ streams: 1, entries: 40 }),
  },
  {
    purpose: 'draws volumes of labels',
    path: `${API}/index/volume?${parameters({ ...RANGE, query: '{app=~".+"}', limit: '100' })}`,
    holds: result('vector', (samples: unknown) => expect(samples).to.have.length(1)),
  },
  {
    purpose: 'detects labels',
    path: `${API}/detected_labels?${parameters({ ...RANGE, query: '' })}`,
    holds: is({ detectedLabels: [{ label: 'app', cardinality: 1 }] }),
  },
  {
    purpose: 'detects fields',
    path: `${API}/detected_fields?${parameters({ ...RANGE, query: '{app="shop"}', limit: '1000' })}`,
    holds: (reply) => {
      const { fields } = reply.json() as { fields: { label: string }[] };
      expect(fields.map(({ label }) => label)).to.include.members(['level', 'status', 'took', 'trace_id']);
    },
  },
  {
    purpose: 'detects values of a field',
    path: `${API}/detected_field/level/values?${parameters({ ...RANGE, query: '{app="shop"}' })}`,
    holds: (reply) => {
      expect((reply.json() as { values: string[] }).values).to.have.members(['error', 'info']);
    },
  },
  { purpose: 'does without patterns', path: `${API}/patterns?${parameters({ ...RANGE, query: '{}' })}`, status: 404 },
  {
    purpose: 'shows the error of a malformed query',
    path: rangeOf('{app="shop"'),
    headers: QUERY,
    status: 400,
    holds: (reply) => expect(reply.text).to.contain('parse error at line 1, col 12'),
  },
];

describeCalls("Grafana's Loki data source", {
  base: '/v1/loki',
  headers: grafanaHeaders(),
  calls: CALLS,
  async seed(send) {
    const values = Array.from({ length: 40 }, (_none, i) => [
      `${START_S + i}000000000`,
      `level=${i % 2 === 0 ? 'error' : 'info'} status=${200 + i} took=${i}ms`,
      { trace_id: `t${i % 3}` },
    ]);
    const body = JSON.stringify({ streams: [{ stream: { app: 'shop' }, values }] });
    await send('/v1/loki/loki/api/v1/push', body, { 'content-type': 'application/json' });
  },
});
