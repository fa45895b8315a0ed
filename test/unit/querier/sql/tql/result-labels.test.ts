import { expect } from 'chai';

import { DIALECT } from '#services/querier/promql/index';
import { parseQuery } from '#services/querier/promql/syntax/parse';
import { resultLabels } from '#services/querier/sql/tql/result-labels';

describe('resultLabels', () => {
  const LABELS: Readonly<Record<string, readonly string[]>> = { a: ['host', 'le', 'zone'], b: ['host', 'job'] };
  const cases: readonly (readonly [query: string, labels: string])[] = [
    ['a', 'host le zone'],
    ['-(a)', 'host le zone'],
    ['rate(a[5m])', 'host le zone'],
    ['max_over_time(rate(a[5m])[1h:1m])', 'host le zone'],
    ['sum(a)', ''],
    ['sum by (zone, nothing) (a)', 'zone'],
    ['sum without (zone) (a)', 'host le'],
    ['topk(1, a)', 'host le zone'],
    ['count_values by (zone) ("v", a)', 'zone v'],
    ['histogram_quantile(0.5, a)', 'host zone'],
    ['absent(a)', ''],
    ['vector(1)', ''],
    ['2 * a', 'host le zone'],
    ['a > 2', 'host le zone'],
    ['a + on (host) b', 'host'],
    ['a + ignoring (host) b', 'le zone'],
    ['a + on (host) group_left (job) b', 'host le zone'],
    ['a + on (host) group_right b', 'host job'],
    ['b or a', 'host job'],
    ['b unless on () a', 'host job'],
    ['1 + 1', ''],
  ];
  for (const [query, labels] of cases) {
    it(`returns the labels of ${query}`, () => {
      const found = resultLabels(parseQuery(query, DIALECT), ({ name }) => LABELS[name]);
      expect(found.join(' ')).to.equal(labels);
    });
  }
});
