import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const COLUMNS = 'transform:\n  - {fields: [code, path], type: string}\n  - {field: ms, type: float64}\n';
const WEB =
  'metrics:\n  - {name: http_requests_total, type: counter, labels: [code]}\n' +
  '  - {name: http_bytes_total, type: counter, value: bytes}\n' +
  '  - {name: http_ms, type: histogram, value: ms, labels: ["path, route"], buckets: [5, 10, 50]}\n' +
  `processors:\n  - filter: {field: path, targets: [/health]}\n${COLUMNS}`;

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

describe('metrics that pipelines count', function () {
  this.timeout(60_000);
  const folder = tempFolder(after);
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(folder);
    await upload('web', WEB);
  });

  after(() => almanac.stop());

  async function upload(name: string, text: string): Promise<void> {
    const reply = await almanac.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
  }

  async function ingest(items: unknown, headers: Record<string, string> = {}, pipeline = 'web'): Promise<void> {
    const path = `/v1/ingest?table=web&pipeline_name=${pipeline}`;
    const reply = await almanac.post(path, JSON.stringify(items), { ...JSON_TYPE, ...headers });
    expect(reply.status, reply.text).to.equal(200);
  }

  async function query(expression: string): Promise<readonly Series[]> {
    const reply = await almanac.get(`/v1/prometheus/api/v1/query?query=${encodeURIComponent(expression)}`);
    expect(reply.status, reply.text).to.equal(200);
    return (JSON.parse(reply.text) as { data: { result: Series[] } }).data.result;
  }

  /** The values of a query by one label. */
  async function values(expression: string, label: string): Promise<Record<string, number>> {
    const result = await query(expression);
    return Object.fromEntries(result.map(({ metric, value }) => [metric[label] ?? '', Number(value[1])]));
  }

  it('are seen by PromQL when the request is acknowledged', async () => {
    await ingest([
      { code: 200, path: '/a', ms: 3, bytes: 100 },
      { code: 200, path: '/a', ms: 10, bytes: '50' },
      { code: 500, path: '/b', ms: 700, bytes: 'many' },
      { code: 200, path: '/health', ms: 1, bytes: 1 },
      { path: '/b', bytes: -5 },
    ]);
    expect(await values('http_requests_total', 'code')).to.deep.equal({ '200': 2, '500': 1, '': 1 });
    expect(await values('http_bytes_total', 'job')).to.deep.equal({ '': 150 });
    const buckets = await values('http_ms_bucket{route="/a"}', 'le');
    expect(buckets).to.deep.equal({ '5': 1, '10': 2, '50': 2, '+Inf': 2 });
    expect(await values('http_ms_bucket{route="/b"}', 'le')).to.deep.equal({ '5': 0, '10': 0, '50': 0, '+Inf': 1 });
    expect(await values('http_ms_sum', 'route')).to.deep.equal({ '/a': 13, '/b': 700 });
    expect(await values('http_ms_count', 'route')).to.deep.equal({ '/a': 2, '/b': 1 });
    expect(await values('histogram_quantile(0.5, http_ms_bucket{route="/a"})', 'route')).to.deep.equal({ '/a': 5 });
    // A new series begins with zero, so that its first value is an increase.
    expect(await values('rate(http_requests_total{code="500"}[5m]) > 0', 'code')).to.have.keys('500');
    const [{ metric }] = await query('http_requests_total{code="500"}');
    expect(metric).to.include({ pipeline: 'web' });
    expect(metric['instance']).to.match(/^[0-9a-f]{12}$/);
  });

  it('count every acknowledged item once, whatever happens at once and after a crash', async () => {
    await upload('many', `metrics:\n  - {name: many_total, type: counter}\n${COLUMNS}`);
    const total = async (): Promise<number> => {
      const [found] = await query('sum(last_over_time(many_total[1h]))');
      return Number(found.value[1]);
    };
    const batch = Array.from({ length: 10 }, () => ({ code: 1 }));
    await Promise.all(Array.from({ length: 40 }, () => ingest(batch, {}, 'many')));
    expect(await total()).to.equal(400);
    for (let i = 0; i < 3; i++) await ingest(batch, { 'idempotency-key': 'once' }, 'many');
    expect(await total()).to.equal(410);
    await almanac.kill();
    almanac = await Almanac.start(folder);
    expect(await total()).to.equal(410);
    await ingest(batch, {}, 'many');
    expect(await total()).to.equal(420);
    expect(await query('last_over_time(many_total[1h])')).to.have.length(2);
    const refused = await almanac.post('/v1/ingest?table=web&pipeline_name=many', '[{"ms":1},{"ms":"x"}]', JSON_TYPE);
    expect(refused.status).to.equal(400);
    expect(await total()).to.equal(420);
  });

  it('count items of other protocols and of replays', async () => {
    await upload(
      'push',
      `metrics:\n  - {name: push_total, type: counter, labels: ["loki_label_app, app"]}\non_error: store\ntransform:\n  - {field: loki_line, type: int32}\n`,
    );
    const push = async (line: string): Promise<void> => {
      const body = JSON.stringify({ streams: [{ stream: { app: 'x' }, values: [['1700000000000000000', line]] }] });
      const headers = { ...JSON_TYPE, 'x-almanac-pipeline-name': 'push', 'x-almanac-log-table-name': 'pushed' };
      expect((await almanac.post('/v1/loki/api/v1/push', body, headers)).status).to.equal(204);
    };
    await push('7');
    await push('seven');
    expect(await values('push_total', 'app')).to.deep.equal({ x: 1 });
    await upload(
      'push',
      `metrics:\n  - {name: push_total, type: counter, labels: ["loki_label_app, app"]}\ntransform:\n  - {field: loki_line, type: int32, on_failure: ignore}\n`,
    );
    const replayed = await almanac.post('/v1/pipelines/push/replay?table=pushed', '');
    expect(JSON.parse(replayed.text), replayed.text).to.include({ replayed: 1 });
    expect(await values('push_total', 'app')).to.deep.equal({ x: 2 });
  });

  it('have a limited number of series, beyond which items are counted together', async () => {
    const ids = async (name: string, count: number): Promise<void> => {
      await ingest(
        Array.from({ length: count }, (_, i) => ({ id: `${name}${i}` })),
        {},
        name,
      );
    };
    const overflow = async (metric: string): Promise<number> => {
      return Number((await query(`${metric}{overflow="true"}`))[0].value[1]);
    };
    for (const name of ['one', 'few']) {
      await upload(name, `metrics:\n  - {name: ${name}_total, type: counter, labels: [id]}\n${COLUMNS}`);
    }
    // Of one request, and of the process.
    await ids('one', 11_000);
    expect(await overflow('one_total')).to.equal(1_000);
    for (let i = 0; i < 5; i++) {
      await ingest(
        Array.from({ length: 9_000 }, (_, k) => ({ id: `${i} ${k}` })),
        {},
        'few',
      );
    }
    expect(await overflow('few_total')).to.be.within(5_000, 5_100);
    expect(await values('sum(few_total)', 'x')).to.deep.equal({ '': 45_000 });
    expect(await values('sum(one_total)', 'x')).to.deep.equal({ '': 11_000 });
  });

  for (const [name, metrics, reason] of [
    ['a map', '{}', 'metrics must be a list'],
    ['an invalid name', '[{name: a-b, type: counter}]', 'name must be a metric name'],
    ['an unknown type', '[{name: a, type: gauge}]', 'type must be one of counter, histogram'],
    ['a histogram without value', '[{name: a, type: histogram}]', 'a histogram needs value'],
    ['buckets that descend', '[{name: a, type: histogram, value: v, buckets: [2, 1]}]', 'buckets must ascend'],
    ['a bucket that is text', '[{name: a, type: histogram, value: v, buckets: [x]}]', 'a bucket must be a number'],
    ['buckets of a counter', '[{name: a, type: counter, buckets: [1]}]', 'only a histogram has buckets'],
    ['an own label', '[{name: a, type: counter, labels: [le]}]', 'invalid label name'],
    ['a label twice', '[{name: a, type: counter, labels: ["x, l", "y, l"]}]', 'a label is named twice'],
    ['a name twice', '[{name: a, type: counter}, {name: a, type: counter}]', '"a" is defined twice'],
  ] as const) {
    it(`are refused with ${name}`, async () => {
      const { status, text } = await almanac.post('/v1/pipelines/x', `metrics: ${metrics}\n${COLUMNS}`, YAML);
      expect([status, (JSON.parse(text) as { error: string }).error]).to.satisfy(([given, error]: [number, string]) => {
        return given === 400 && error.includes(reason);
      });
    });
  }
});
