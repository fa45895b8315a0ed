import { expect } from 'chai';

import { expanded, legendText } from '#services/gateway/dashboard/app/screens/dashboards/macros';

const VALUES = {
  range: { fromMs: 1_700_000_000_000, toMs: 1_700_003_600_000 },
  stepSeconds: 30,
  variables: { host: ['web-1'], hosts: ['a.b', `it's "x"`], none: [] },
};

describe('references in the queries of a dashboard', () => {
  it('are replaced by the range and the step', () => {
    const inPromql = (query: string): string => expanded(query, 'promql', VALUES);
    expect(inPromql('rate(x[$__rate_interval]) $__interval [$__range:$__interval]')).to.equal(
      'rate(x[120s]) 30s [3600s:30s]',
    );
    expect(inPromql('$__from ${__to} $__interval_ms $__range_s')).to.equal('1700000000000 1700003600000 30000 3600');
    const filter = `"ts" >= '2023-11-14T22:13:20.000Z' AND "ts" <= '2023-11-14T23:13:20.000Z'`;
    expect(expanded('WHERE $__timeFilter(ts) AND $__timeFilter( "ts" )', 'sql', VALUES)).to.equal(
      `WHERE ${filter} AND ${filter}`,
    );
  });

  it('are replaced by the values of variables, escaped for their language', () => {
    expect(expanded('up{h="$host", i=~"[[hosts]]"}', 'promql', VALUES)).to.equal(
      String.raw`up{h="web-1", i=~"(a\\.b|it's \"x\")"}`,
    );
    expect(expanded(`h = '$host' OR h IN (\${hosts})`, 'sql', VALUES)).to.equal(
      `h = 'web-1' OR h IN ('a.b', 'it''s "x"')`,
    );
    expect(expanded(`'\${host:raw}' \${host:sqlstring}`, 'sql', VALUES)).to.equal(`'web-1' 'web-1'`);
    const hostile = { ...VALUES, variables: { v: [`'; DROP TABLE t; --`] } };
    expect(expanded(`a = '$v'`, 'sql', hostile)).to.equal(`a = '''; DROP TABLE t; --'`);
  });

  it('stay if nothing has their name', () => {
    expect(expanded('$unknown ${constructor} $1 costs 5$', 'promql', VALUES)).to.equal(
      '$unknown ${constructor} $1 costs 5$',
    );
  });

  it('name series by their labels', () => {
    expect(legendText('{{host}} of {{ job }}{{missing}}', { host: 'a', job: 'b' })).to.equal('a of b');
  });
});
