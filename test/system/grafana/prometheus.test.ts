import { expect } from 'chai';
import { compressSync } from 'snappy';

import { describeCalls, grafanaHeaders, type CallReply, type RecordedCall } from '#test/support/recorded-calls';
import { bodyV1 } from '#test/support/remote-write-messages';

const T0 = 1_700_000_000;
const WINDOW = `start=${T0 - 20}&end=${T0 + 100}`;
const LIMITED = `${WINDOW}&limit=40000`;
const API = '/api/v1';

interface Envelope {
  readonly status: string;
  readonly data: unknown;
  readonly errorType?: string;
}

type Holds = NonNullable<RecordedCall['holds']>;

/** Checks the data of a successful reply. */
const succeeds =
  (check: (data: never) => void): Holds =>
  (reply: CallReply) => {
    expect(reply.headers['content-type']).to.equal('application/json');
    const { status, data } = reply.json() as Envelope;
    expect(status).to.equal('success');
    check(data as never);
  };

const is = (expected: unknown): Holds =>
  succeeds((data: unknown) => {
    expect(data).to.deep.equal(expected);
  });

const parameters = (values: Readonly<Record<string, string>>): string => new URLSearchParams(values).toString();
const range = (query: string, step: string): string =>
  parameters({ query, start: `${T0 + 60}.000`, end: `${T0 + 75}.5`, step, timeout: '60s' });

const CALLS: readonly RecordedCall[] = [
  {
    purpose: 'saves and tests the data source',
    path: `${API}/query`,
    form: 'query=1%2B1&time=4',
    holds: is({ resultType: 'scalar', result: [4, '2'] }),
  },
  {
    purpose: 'finds out that the server is a Prometheus, not a Mimir',
    path: `${API}/status/buildinfo`,
    holds: succeeds((build: { version: string; features?: object }) => {
      expect(build.version).to.match(/^\d+\.\d+\.\d+$/);
      expect(build).not.to.have.property('features');
    }),
  },
  {
    purpose: 'reads flags',
    path: `${API}/status/flags`,
    holds: succeeds((flags: object) => expect(flags).to.be.an('object')),
  },
  {
    purpose: 'draws a panel',
    path: `${API}/query_range`,
    form: range('rate(graf_seconds[1m])', '15'),
    holds: succeeds(({ result }: { result: { metric: object; values: unknown[] }[] }) => {
      expect(result.map(({ metric, values }) => [metric, values.length])).to.deep.equal([
        [{ job: 'a', 'k8s.pod': 'p1' }, 2],
        [{ job: 'b', 'k8s.pod': 'p1' }, 2],
      ]);
    }),
  },
  {
    purpose: 'draws a panel with many points',
    path: `${API}/query_range`,
    form: parameters({ query: 'graf_seconds', start: `${T0}`, end: `${T0 + 100}`, step: '0.5' }),
    holds: succeeds(({ result }: { result: { values: [number, string][] }[] }) => {
      expect(result[0].values).to.have.length(201);
      expect(result[0].values[1]).to.deep.equal([T0 + 0.5, '0']);
    }),
  },
  {
    purpose: 'draws a panel without data',
    path: `${API}/query_range`,
    form: range('nothing', '0.5'),
    holds: is({ resultType: 'matrix', result: [] }),
  },
  {
    purpose: 'draws a table without data',
    path: `${API}/query`,
    form: `query=nothing&time=${T0}`,
    holds: is({ resultType: 'vector', result: [] }),
  },
  {
    purpose: 'draws exemplars',
    path: `${API}/query_exemplars`,
    form: `query=graf_seconds&${WINDOW}`,
    holds: is([
      {
        seriesLabels: { __name__: 'graf_seconds', job: 'a', 'k8s.pod': 'p1' },
        exemplars: [{ labels: { trace_id: 't' }, value: '1', timestamp: T0 }],
      },
    ]),
  },
  {
    purpose: 'probes for exemplars',
    path: `${API}/query_exemplars`,
    form: `query=test&${WINDOW}`,
    holds: is([]),
  },
  {
    purpose: 'lists labels',
    path: `${API}/labels`,
    form: LIMITED,
    holds: is(['__name__', 'job', 'k8s.pod']),
  },
  {
    purpose: 'lists labels of a metric',
    path: `${API}/labels?${LIMITED}&match[]=graf_seconds`,
    holds: is(['__name__', 'job', 'k8s.pod']),
  },
  {
    purpose: 'lists labels where there are none',
    path: `${API}/labels`,
    form: `${LIMITED}&match[]=nothing`,
    holds: is([]),
  },
  {
    purpose: 'lists metrics',
    path: `${API}/label/__name__/values?${LIMITED}`,
    holds: is(['graf_seconds']),
  },
  {
    purpose: 'lists values of a label',
    path: `${API}/label/job/values?${LIMITED}&${parameters({ 'match[]': '{__name__="graf_seconds",job!="b"}' })}`,
    holds: is(['a']),
  },
  {
    purpose: 'lists values of a label with an escaped name',
    path: `${API}/label/U__k8s_2e_pod/values?${LIMITED}`,
    holds: is(['p1']),
  },
  { purpose: 'lists values of no label', path: `${API}/label/none/values?${LIMITED}`, holds: is([]) },
  {
    purpose: 'lists series by quoted names',
    path: `${API}/series`,
    form: `${LIMITED}&${parameters({ 'match[]': '{"graf_seconds","k8s.pod"="p1"}' })}`,
    holds: succeeds((series: unknown) => expect(series).to.have.length(2)),
  },
  {
    purpose: 'lists series where there are none',
    path: `${API}/series`,
    form: `${LIMITED}&match[]=nothing`,
    holds: is([]),
  },
  {
    purpose: 'reads metadata',
    path: `${API}/metadata?limit=40000`,
    holds: is({ graf_seconds: [{ type: 'gauge', help: 'Time.', unit: 'seconds' }] }),
  },
  { purpose: 'reads metadata of no metric', path: `${API}/metadata?metric=nothing`, holds: is({}) },
  { purpose: 'lists rules', path: `${API}/rules`, holds: is({ groups: [] }) },
  { purpose: 'lists alert rules', path: `${API}/rules?type=alert`, holds: is({ groups: [] }) },
  { purpose: 'lists alerts', path: `${API}/alerts`, holds: is({ alerts: [] }) },
  {
    purpose: 'lists targets',
    path: `${API}/targets?state=active`,
    holds: is({ activeTargets: [], droppedTargets: [], droppedTargetCounts: {} }),
  },
  {
    purpose: 'lists alert managers',
    path: `${API}/alertmanagers`,
    holds: is({ activeAlertmanagers: [], droppedAlertmanagers: [] }),
  },
  {
    purpose: 'finds nothing in a missing database',
    path: `${API}/labels`,
    form: WINDOW,
    headers: { 'x-greptime-db-name': 'nowhere' },
    holds: is([]),
  },
];

/** Calls that Grafana repeats by GET with the form in the URL, if POST is refused. */
const REPEATED: readonly (readonly [path: string, form: string])[] = [
  ['labels', 'match[]=%7B'],
  ['labels', 'start=x'],
  ['series', 'match[]=%7Ba%3D'],
  ['series', ''],
  ['query', 'query=sum('],
  ['query_range', 'query=up&start=2&end=1&step=1'],
];

describeCalls("Grafana's Prometheus data source", {
  base: '/v1/prometheus',
  headers: grafanaHeaders('metrics'),
  calls: CALLS,
  async seed(send) {
    await send('/v1/sql', 'sql=CREATE DATABASE metrics', { 'content-type': 'application/x-www-form-urlencoded' });
    const samples = [0, 30, 60].map((s) => ({ value: s, timestamp: (T0 + s) * 1000 }));
    const series = ['a', 'b'].map((job) => ({
      labels: [['__name__', 'graf_seconds'] as const, ['job', job] as const, ['k8s.pod', 'p1'] as const],
      samples,
    }));
    const exemplars = [{ labels: { trace_id: 't' }, value: 1, timestamp: T0 * 1000 }];
    const metadata = [{ type: 2, metric_family_name: 'graf_seconds', help: 'Time.', unit: 'seconds' }];
    const body = compressSync(bodyV1([{ ...series[0], exemplars }, series[1]], metadata));
    await send('/v1/prometheus/write', body, { 'x-greptime-db-name': 'metrics' });
  },
  more(program) {
    for (const [path, form] of REPEATED) {
      it(`gets the same error by GET: ${path} ${form}`, async () => {
        const posted = await program().check({ purpose: 'POST', path: `${API}/${path}`, form, status: 400 });
        const got = await program().check({ purpose: 'GET', path: `${API}/${path}?${form}`, status: 400 });
        expect((posted.json() as Envelope).errorType).to.equal('bad_data');
        expect(got.json()).to.deep.equal(posted.json());
      });
    }

    it('keeps its connection', async () => {
      const before = program().connectionCount;
      for (let i = 0; i < 5; i++) await program().check(CALLS[0]);
      expect(program().connectionCount - before).to.be.at.most(1);
    });
  },
});
