import { expect } from 'chai';

import { dashboardText, newPanel, parseDashboard } from '#services/gateway/dashboard/app/screens/dashboards/document';

describe('the text of a dashboard', () => {
  it('is read as it was written, without defaults', () => {
    const document = {
      title: 'CPU',
      variables: [{ name: 'host', mode: 'promql', query: 'label_values(up, host)' }],
      range: { from: 'now-6h', to: 'now' },
      panels: [
        newPanel({ title: 'load', queries: [{ q: 'rate(x[5m])', legend: '{{host}}' }], unit: 'bytes', draw: 'bars' }),
        newPanel({ type: 'text', text: 'hello', queries: [], y: 8 }),
      ],
    } as const;
    const text = dashboardText(document);
    expect(parseDashboard(text)).to.deep.equal(document);
    expect(text).not.to.contain('"scale"');
    expect(dashboardText(parseDashboard(text))).to.equal(text);
  });

  it('is refused if it is none, and members that are wrong become defaults', () => {
    for (const text of ['[]', '{}', 'null', '{"almanac": 2}']) expect(() => parseDashboard(text)).to.throw('almanac');
    expect(() => parseDashboard('{')).to.throw(SyntaxError);
    const odd = {
      almanac: 1,
      title: 7,
      range: { from: 'now-1h' },
      variables: [{ name: 'a b', query: 'x' }, { name: 'ok', mode: 'magic' }, 5],
      panels: [{ x: 99, w: 99, h: -1, type: 'magic', mode: 'cobol', queries: [{ q: {} }, 'x'], unit: 'miles' }, null],
    };
    expect(parseDashboard(JSON.stringify(odd))).to.deep.equal({
      title: '',
      variables: [{ name: 'ok', mode: 'list', query: '' }],
      range: undefined,
      panels: [newPanel({ w: 12, h: 2, queries: [{ q: '', legend: '' }] })],
    });
  });
});
