import { expect } from 'chai';

import { queryParts, type QueryPart } from '#services/gateway/dashboard/app/screens/query/plan/promql-parts';
import { DIALECT } from '#services/querier/promql/index';
import { parseQuery } from '#services/querier/promql/syntax/parse';
import { exprTreeWithPositions } from '#services/querier/promql/syntax/tree';

/** The titles and texts of a query's parts, indented. */
function drawn(query: string): string[] {
  const tree = exprTreeWithPositions(parseQuery(query, DIALECT)) as unknown as Parameters<typeof queryParts>[0];
  const lines = ({ title, text, isRange, children }: QueryPart, depth = 0): string[] => [
    `${' '.repeat(depth)}${title} = ${text}${isRange ? ' *' : ''}`,
    ...children.flatMap((child) => lines(child, depth + 1)),
  ];
  return lines(queryParts(tree, query));
}

describe('parts of a query in PromQL', () => {
  it('are its expressions but literals and parentheses', () => {
    expect(drawn('(1 + up offset 5m) > bool 2')).to.deep.equal([
      '(…) > bool 2 = (1 + up offset 5m) > bool 2',
      ' 1 + … = 1 + up offset 5m',
      '  up offset 5m = up offset 5m',
    ]);
    expect(drawn('quantile by (job) (0.9, ((rate(x[5m] @ end()))))')).to.deep.equal([
      'quantile by (job) (0.9, ((…))) = quantile by (job) (0.9, ((rate(x[5m] @ end()))))',
      ' rate(…) = rate(x[5m] @ end())',
      '  x[5m] @ end() = x[5m] @ end() *',
    ]);
    expect(drawn('topk(scalar(n), a) and on(job) b')).to.deep.equal([
      '… and on(job) … = topk(scalar(n), a) and on(job) b',
      ' topk(…, …) = topk(scalar(n), a)',
      '  scalar(…) = scalar(n)',
      '   n = n',
      '  a = a',
      ' b = b',
    ]);
    expect(drawn('42')).to.deep.equal(['42 = 42']);
  });

  it('keep the text of the query, but for spaces in titles', () => {
    const query = '# "😀"\nsum(\n  max_over_time(rate({"a😀b", c="d"}[5m])[1h:1m])\n) # end';
    expect(drawn(query)).to.deep.equal([
      'sum( … ) = sum(\n  max_over_time(rate({"a😀b", c="d"}[5m])[1h:1m])\n)',
      ' max_over_time(…) = max_over_time(rate({"a😀b", c="d"}[5m])[1h:1m])',
      '  …[1h:1m] = rate({"a😀b", c="d"}[5m])[1h:1m] *',
      '   rate(…) = rate({"a😀b", c="d"}[5m])',
      '    {"a😀b", c="d"}[5m] = {"a😀b", c="d"}[5m] *',
    ]);
  });

  it('are the whole query if the server names no positions', () => {
    const tree = { type: 'call', args: [{ type: 'vectorSelector' }] };
    expect(queryParts(tree, 'rate(x)')).to.deep.equal({
      text: 'rate(x)',
      title: 'rate(x)',
      isRange: false,
      children: [],
    });
  });
});
