import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { fromGrafana, isGrafana } from '#services/gateway/dashboard/app/screens/dashboards/import/grafana';

const SOURCE = {
  title: 'Nodes',
  time: { from: 'now-6h', to: 'now' },
  annotations: { list: [{ builtIn: 1 }, { name: 'deploys' }] },
  templating: {
    list: [
      { name: 'job', type: 'query', query: { query: 'label_values(up, job)' } },
      { name: 'size', type: 'custom', query: '1,2' },
      { name: 'ds', type: 'datasource', query: 'prometheus' },
      { name: 'free', type: 'adhoc' },
    ],
  },
  panels: [
    {
      type: 'timeseries',
      title: 'Load',
      gridPos: { x: 12, y: 0, w: 12, h: 8 },
      fieldConfig: { defaults: { unit: 'percentunit', custom: { stacking: { mode: 'normal' } } } },
      targets: [
        { expr: 'rate(a[$__rate_interval])', legendFormat: '{{job}}' },
        { expr: 'b', legendFormat: '__auto' },
        { expr: 'hidden', hide: true },
      ],
    },
    {
      type: 'row',
      collapsed: true,
      panels: [
        { type: 'table', title: 'SQL', gridPos: { x: 0, y: 9, w: 24, h: 6 }, targets: [{ rawSql: 'SELECT 1' }] },
      ],
    },
    { type: 'text', title: '', gridPos: { x: 0, y: 0, w: 12, h: 4 }, options: { content: '<b>note</b>' } },
    { type: 'geomap', title: 'Map', targets: [{ expr: 'up' }] },
    { type: 'stat', title: 'Flux', targets: [{ query: 'from(bucket)' }] },
  ],
};

describe('dashboards of Grafana', () => {
  it('become ours, with a list of what is left out', () => {
    const { document, leftOut } = fromGrafana(SOURCE);
    expect(document.title).to.equal('Nodes');
    expect(document.range).to.deep.equal({ from: 'now-6h', to: 'now' });
    expect(document.variables).to.deep.equal([
      { name: 'job', mode: 'promql', query: 'label_values(up, job)' },
      { name: 'size', mode: 'list', query: '1,2' },
    ]);
    const [load, table, text] = document.panels;
    expect(load).to.deep.include({
      type: 'chart',
      mode: 'promql',
      x: 6,
      y: 0,
      w: 6,
      h: 8,
      unit: 'ratio',
      draw: 'area',
    });
    expect(load.queries).to.deep.equal([
      { q: 'rate(a[$__rate_interval])', legend: '{{job}}' },
      { q: 'b', legend: '' },
    ]);
    expect(table).to.deep.include({ type: 'table', mode: 'sql', x: 0, y: 8, w: 12, h: 6 });
    expect(text).to.deep.include({ type: 'text', text: '<b>note</b>', x: 0, y: 0, w: 6 });
    expect(document.panels).to.have.length(3);
    expect(leftOut).to.have.members([
      'annotations',
      'panel "Map": the type geomap',
      'panel "Flux": queries of other data sources',
      'variable free: the type adhoc',
    ]);
  });

  it('are known by their members, also within the reply of its API, and of old versions', () => {
    expect(isGrafana({ dashboard: SOURCE })).to.equal(true);
    expect(fromGrafana({ dashboard: SOURCE }).document.panels).to.have.length(3);
    const rows = [{ panels: [{ type: 'graph', title: 'old', span: 6, targets: [{ expr: 'up' }], stack: true }] }];
    expect(isGrafana({ rows })).to.equal(true);
    expect(fromGrafana({ rows }).document.panels[0]).to.deep.include({ title: 'old', w: 6, draw: 'area' });
    expect(isGrafana({ title: 'x' })).to.equal(false);
  });

  it('that this project ships are wholly imported', () => {
    const text = readFileSync('deploy/grafana/provisioning/dashboards/almanac.json', 'utf8');
    const { document, leftOut } = fromGrafana(JSON.parse(text) as Record<string, unknown>);
    expect(document.panels.length).to.be.greaterThan(10);
    expect(leftOut).to.deep.equal([]);
  });

  it('with members of any other type do not fail', () => {
    for (const value of [null, 1, 'x', [], [null], [[]], {}, [{}], { list: 7 }]) {
      for (const name of ['panels', 'rows', 'templating', 'time', 'annotations', 'title', 'links']) {
        expect(() => fromGrafana({ panels: [], [name]: value })).not.to.throw();
      }
      for (const name of [
        'type',
        'targets',
        'gridPos',
        'options',
        'fieldConfig',
        'yaxes',
        'title',
        'transformations',
      ]) {
        const panel = { type: 'graph', targets: [{ expr: 'up' }], [name]: value };
        expect(() => fromGrafana({ panels: [panel] }), name).not.to.throw();
      }
    }
  });
});
