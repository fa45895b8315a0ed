import { expect } from 'chai';

import { fromPerses, isPerses } from '#services/gateway/dashboard/app/screens/dashboards/import/perses';

function panel(kind: string, query?: string): object {
  const plugin = { kind: 'PrometheusTimeSeriesQuery', spec: { query, seriesNameFormat: '{{job}}' } };
  return {
    kind: 'Panel',
    spec: {
      display: { name: kind },
      plugin: { kind, spec: { yAxis: { format: { unit: 'bytes' } }, text: 'words' } },
      queries: query === undefined ? [] : [{ kind: 'TimeSeriesQuery', spec: { plugin } }],
    },
  };
}

const SOURCE = {
  kind: 'Dashboard',
  metadata: { name: 'nodes' },
  spec: {
    display: { name: 'Nodes' },
    duration: '6h',
    variables: [
      { kind: 'TextVariable', spec: { name: 'text', value: 'a' } },
      {
        kind: 'ListVariable',
        spec: {
          name: 'job',
          plugin: { kind: 'PrometheusLabelValuesVariable', spec: { labelName: 'job', matchers: ['up'] } },
        },
      },
      {
        kind: 'ListVariable',
        spec: { name: 'list', plugin: { kind: 'StaticListVariable', spec: { values: ['x', { value: 'y' }] } } },
      },
      { kind: 'ListVariable', spec: { name: 'other', plugin: { kind: 'PrometheusPromQLVariable', spec: {} } } },
    ],
    panels: { a: panel('TimeSeriesChart', 'rate(x[5m])'), b: panel('Markdown'), c: panel('FlameChart', 'up') },
    layouts: [
      { kind: 'Grid', spec: { items: [{ x: 12, y: 0, width: 12, height: 6, content: { $ref: '#/spec/panels/a' } }] } },
      {
        kind: 'Grid',
        spec: {
          items: ['b', 'c', 'constructor'].map((name, i) => {
            return { x: 0, y: i * 4, width: 24, height: 4, content: { $ref: `#/spec/panels/${name}` } };
          }),
        },
      },
    ],
  },
};

describe('dashboards of Perses', () => {
  it('become ours, with a list of what is left out', () => {
    expect(isPerses(SOURCE)).to.equal(true);
    const { document, leftOut } = fromPerses(SOURCE);
    expect([document.title, document.range]).to.deep.equal(['Nodes', { from: 'now-6h', to: 'now' }]);
    expect(document.variables).to.deep.equal([
      { name: 'text', mode: 'list', query: 'a' },
      { name: 'job', mode: 'promql', query: 'label_values(up, job)' },
      { name: 'list', mode: 'list', query: 'x,y' },
    ]);
    const [chart, text] = document.panels;
    expect(chart).to.deep.include({ type: 'chart', x: 6, y: 0, w: 6, h: 6, unit: 'bytes' });
    expect(chart.queries).to.deep.equal([{ q: 'rate(x[5m])', legend: '{{job}}' }]);
    expect(text).to.deep.include({ type: 'text', text: 'words', x: 0, y: 6, w: 12, h: 4 });
    expect(document.panels).to.have.length(2);
    expect(leftOut).to.have.members([
      'variable other: the type PrometheusPromQLVariable',
      'panel "FlameChart": the type FlameChart',
    ]);
  });

  it('with members of any other type do not fail', () => {
    for (const value of [null, 1, 'x', [], [null], {}, [{}], { a: 7 }]) {
      for (const name of ['panels', 'layouts', 'variables', 'display', 'duration']) {
        expect(() => fromPerses({ ...SOURCE, spec: { ...SOURCE.spec, [name]: value } }), name).not.to.throw();
      }
    }
  });
});
