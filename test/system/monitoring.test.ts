import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { needPrograms } from '#test/support/prometheus';
import { tempFolder } from '#test/support/temp-folder';

const ALERTS = 'deploy/prometheus-alerts.yml';
const DASHBOARD = 'deploy/grafana-dashboard.json';

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
