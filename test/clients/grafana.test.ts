import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1 } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
/** What Grafana's server sends with each call. */
const HEADERS = { 'accept-encoding': 'gzip', 'x-scope-orgid': 'tenant', 'user-agent': 'Grafana/12.1.0' };
const WINDOW = `start=${T0 - 20}&end=${T0 + 100}`;

interface Envelope {
  readonly status: string;
  readonly data?: unknown;
  readonly error?: string;
  readonly errorType?: string;
}

describe('the calls of Grafana', () => {
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    await almanac.sql('CREATE DATABASE metrics');
    const samples = [0, 30, 60].map((s) => ({ value: s, timestamp: (T0 + s) * 1000 }));
    const series = ['a', 'b'].map((job) => ({
      labels: [['__name__', 'graf_seconds'] as const, ['job', job] as const, ['k8s.pod', 'p1'] as const],
      samples,
    }));
    const exemplars = [{ labels: { trace_id: 't' }, value: 1, timestamp: T0 * 1000 }];
    const metadata = [{ type: 2, metric_family_name: 'graf_seconds', help: 'Time.', unit: 'seconds' }];
    const body = Uint8Array.from(compressSync(bodyV1([{ ...series[0], exemplars }, series[1]], metadata)));
    const { status } = await almanac.post('/v1/prometheus/write', body, { 'x-greptime-db-name': 'metrics' });
    expect(status).to.equal(204);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function call(path: string, form?: string, more: Record<string, string> = {}): Promise<[number, Envelope]> {
    const headers = { ...HEADERS, 'x-greptime-db-name': 'metrics', ...more, ...(form === undefined ? {} : FORM) };
    const init = form === undefined ? { headers } : { headers, method: 'POST', body: form };
    const response = await fetch(`${almanac.url}/v1/prometheus/api/v1/${path}`, init);
    expect(response.headers.get('content-type'), path).to.equal('application/json');
    return [response.status, (await response.json()) as Envelope];
  }

  async function data(path: string, form?: string): Promise<unknown> {
    const [status, envelope] = await call(path, form);
    expect([status, envelope.status], path).to.deep.equal([200, 'success']);
    return envelope.data;
  }

  it('save and test the data source', async () => {
    expect(await data('query', 'query=1%2B1&time=4')).to.deep.equal({ resultType: 'scalar', result: [4, '2'] });
    const build = (await data('status/buildinfo')) as Record<string, unknown>;
    expect(build)
      .to.have.property('version')
      .that.matches(/^\d+\.\d+\.\d+$/);
    // With these it would be taken for Mimir.
    expect(build).not.to.have.property('features');
    expect(await data('status/flags')).to.be.an('object');
  });

  it('draw panels', async () => {
    const range = `query=rate(graf_seconds%5B1m%5D)&start=${T0 + 60}.000&end=${T0 + 75}.5&step=15&timeout=60s`;
    const { result } = (await data('query_range', range)) as { result: { metric: object; values: unknown[] }[] };
    expect(result.map(({ metric, values }) => [metric, values.length])).to.deep.equal([
      [{ job: 'a', 'k8s.pod': 'p1' }, 2],
      [{ job: 'b', 'k8s.pod': 'p1' }, 2],
    ]);
    expect(await data('query_range', range.replace('graf', 'nothing').replace('step=15', 'step=0.5'))).to.deep.equal({
      resultType: 'matrix',
      result: [],
    });
    expect(await data('query', `query=nothing&time=${T0}`)).to.deep.equal({ resultType: 'vector', result: [] });
    expect(await data('query_exemplars', `query=graf_seconds&${WINDOW}`)).to.deep.equal([
      {
        seriesLabels: { __name__: 'graf_seconds', job: 'a', 'k8s.pod': 'p1' },
        exemplars: [{ labels: { trace_id: 't' }, value: '1', timestamp: T0 }],
      },
    ]);
  });

  it('complete names and values', async () => {
    const limited = `${WINDOW}&limit=40000`;
    expect(await data('labels', limited)).to.deep.equal(['__name__', 'job', 'k8s.pod']);
    expect(await data(`labels?${limited}&match[]=graf_seconds`)).to.include('job');
    expect(await data(`label/__name__/values?${limited}`)).to.deep.equal(['graf_seconds']);
    const match = encodeURIComponent('{__name__="graf_seconds",job!="b"}');
    expect(await data(`label/job/values?${limited}&match[]=${match}`)).to.deep.equal(['a']);
    expect(await data(`label/U__k8s_2e_pod/values?${limited}`)).to.deep.equal(['p1']);
    expect(await data(`label/none/values?${limited}`)).to.deep.equal([]);
    const quoted = encodeURIComponent('{"graf_seconds","k8s.pod"="p1"}');
    expect(await data('series', `${limited}&match[]=${quoted}`)).to.have.length(2);
    expect(await data('metadata?limit=1000')).to.deep.equal({
      graf_seconds: [{ type: 'gauge', help: 'Time.', unit: 'seconds' }],
    });
  });

  it('get the same errors when they retry by GET', async () => {
    for (const [path, form] of [
      ['labels', 'match[]=%7B'],
      ['series', 'match[]=%7Ba%3D'],
      ['series', ''],
      ['labels', 'start=x'],
      ['query', 'query=sum('],
      ['query_range', 'query=up&start=2&end=1&step=1'],
    ]) {
      const [byPost, posted] = await call(path, form);
      const [byGet, got] = await call(`${path}?${form}`);
      expect([byPost, posted.errorType], `${path} ${form}`).to.deep.equal([400, 'bad_data']);
      expect([byGet, got]).to.deep.equal([byPost, posted]);
    }
  });

  it('find no alerts', async () => {
    expect(await data('rules')).to.deep.equal({ groups: [] });
    expect(await data('rules?type=alert')).to.deep.equal({ groups: [] });
    expect(await data('alerts')).to.deep.equal({ alerts: [] });
    expect(await data('targets?state=active')).to.deep.include({ activeTargets: [] });
    expect(await data('alertmanagers')).to.deep.include({ activeAlertmanagers: [] });
  });

  it('find nothing in a missing database', async () => {
    const [status, { data: found }] = await call('labels', WINDOW, { 'x-greptime-db-name': 'nowhere' });
    expect([status, found]).to.deep.equal([200, []]);
  });
});
