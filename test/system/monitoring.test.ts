import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { needPrograms, startPrometheus } from '#test/support/prometheus';
import { tempFolder } from '#test/support/temp-folder';

const ALERTS = 'deploy/prometheus-alerts.yml';
const DASHBOARD = 'deploy/grafana/provisioning/dashboards/almanac.json';

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

describe('alert rules and dashboard', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  let metrics: string;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    // Series with labels are there once something was counted.
    await almanac.write('cpu,host=a usage=1 1');
    await almanac.write('malformed');
    await almanac.sql('SELECT count(*) FROM cpu');
    await almanac.get('/v1/prometheus/api/v1/query?query=cpu');
    metrics = (await almanac.get('/metrics')).text;
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const panels = (JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] }).panels;
  const inDashboard = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const inAlerts = Array.from(readFileSync(ALERTS, 'utf8').matchAll(/expr: \|-\n +(.+)/g), ([, expr]) => expr);

  it('are rules that Prometheus accepts', function () {
    needPrograms('promtool').call(this);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', ALERTS]);
    expect(status, `${stdout.toString()}${stderr.toString()}`).to.equal(0);
  });

  it('name metrics that exist', () => {
    expect(inAlerts).to.have.length.at.least(10);
    expect(inDashboard).to.have.length.at.least(20);
    for (const expr of [...inAlerts, ...inDashboard]) {
      for (const [name] of expr.matchAll(/\balmanac_[a-z0-9_]+\b(?![|(])/g)) {
        const family = name.replace(/_(bucket|count|sum)$/, '');
        const isThere = metrics.includes(`# TYPE ${name} `) || metrics.includes(`# TYPE ${family} `);
        expect(isThere, `${name} in ${expr}`).to.equal(true);
      }
    }
  });

  it('are queries that Almanac itself evaluates', async () => {
    for (const expr of [...inAlerts, ...inDashboard]) {
      const query = expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*');
      const { status, text } = await almanac.get(`/v1/prometheus/api/v1/query?query=${encodeURIComponent(query)}`);
      expect(status, `${query}: ${text}`).to.equal(200);
    }
  });
});

describe('metrics as OpenMetrics', function () {
  this.timeout(90_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(join(folder, 'data'));
    await almanac.write('cpu,host=a usage=1 1');
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function metricsFor(accept: string): Promise<{ type: string | null; text: string }> {
    const response = await fetch(`${almanac.url}/metrics`, { headers: { accept } });
    return { type: response.headers.get('content-type'), text: await response.text() };
  }

  /** Names and labels of all samples. */
  const samplesIn = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.replace(/ [^ ]+$/, ''));

  it('are what clients get that prefer it', async () => {
    const open = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
    const plain = 'text/plain; version=0.0.4; charset=utf-8';
    for (const [accept, type] of [
      ['application/openmetrics-text', open],
      ['application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.3,*/*;q=0.2', open],
      ['text/plain, application/openmetrics-text;q=0.1', plain],
      ['application/openmetrics-text;q=0', plain],
      ['*/*', plain],
    ]) {
      expect((await metricsFor(accept)).type, accept).to.equal(type);
    }
  });

  it('have the same samples, and each family once, before the end mark', async () => {
    // The first request for each adds samples of its own, and so may work in the background.
    const plainText = async (): Promise<string> => (await metricsFor('text/plain')).text;
    let open = '';
    let plain: readonly string[] = [];
    await eventually(async () => {
      const before = samplesIn(await plainText());
      open = (await metricsFor('application/openmetrics-text')).text;
      plain = samplesIn(await plainText());
      return before.join() === plain.join();
    });
    expect(samplesIn(open)).to.have.members(plain);
    expect(open.endsWith('\n# EOF\n')).to.equal(true);
    const families = Array.from(open.matchAll(/^# TYPE (\S+) /gm), ([, name]) => name);
    expect(new Set(families).size).to.equal(families.length);
    expect(open).to.match(/^# TYPE almanac_servers_http_requests counter$/m);
    expect(open).to.match(/^almanac_servers_http_requests_total\{/m);
  });

  it('are scraped by Prometheus, which prefers it', async function () {
    needPrograms('prometheus').call(this);
    const config = (): Readonly<Record<string, unknown>> => ({
      global: { scrape_interval: '1s', scrape_timeout: '1s' },
      scrape_configs: [{ job_name: 'almanac', static_configs: [{ targets: [almanac.url.replace('http://', '')] }] }],
    });
    const prometheus = await startPrometheus(folder, { config });
    try {
      const valueOf = async (query: string): Promise<string | undefined> => {
        const { text } = await prometheus.get(`/api/v1/query?query=${encodeURIComponent(query)}`);
        return (JSON.parse(text) as { data: { result: { value: [number, string] }[] } }).data.result[0]?.value[1];
      };
      await eventually(async () => (await valueOf('up{job="almanac"}')) === '1', 30_000);
      await eventually(async () => (await valueOf('almanac_app_version')) === '1');
      expect(Number(await valueOf('sum(almanac_servers_http_requests_total)'))).to.be.greaterThan(0);
    } finally {
      await prometheus.kill();
    }
  });
});
