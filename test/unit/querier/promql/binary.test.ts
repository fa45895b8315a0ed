import { expect } from 'chai';

import { evaluatePromql, runPromql, series } from '#test/support/promql-source';

const requests = [
  series('errors', { method: 'get', code: '500' }, [24]),
  series('errors', { method: 'get', code: '404' }, [30]),
  series('errors', { method: 'put', code: '501' }, [3]),
  series('requests', { method: 'get' }, [600]),
  series('requests', { method: 'del' }, [34]),
];

async function fails(query: string, text: string): Promise<void> {
  const failure = await runPromql(requests, query).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure, query).to.include({ code: 'execute_query', message: text });
}

describe('binary operators', () => {
  it('follow the precedence of mathematics', async () => {
    const scalar = async (query: string): Promise<unknown> => (await evaluatePromql([], query))['scalar'];
    expect(await scalar('1 + 2 * 3')).to.deep.equal([7]);
    expect(await scalar('2 ^ 3 ^ 2')).to.deep.equal([512]);
    expect(await scalar('-2 ^ 2')).to.deep.equal([-4]);
    expect(await scalar('2 ^ -1')).to.deep.equal([0.5]);
    expect(await scalar('-7 % 3')).to.deep.equal([-1]);
    expect(await scalar('1 ^ NaN')).to.deep.equal([1]);
    expect(await scalar('1 / 0')).to.deep.equal([Infinity]);
    expect(await scalar('1 > bool 2')).to.deep.equal([0]);
  });

  it('drop the metric name in arithmetic and keep it in filters', async () => {
    expect(await evaluatePromql(requests, 'requests{method="get"} / 100')).to.deep.equal({ '{method="get"}': [6] });
    expect(await evaluatePromql(requests, '100 < requests')).to.deep.equal({
      '{__name__="requests", method="get"}': [600],
    });
    expect(await evaluatePromql(requests, 'requests > bool 100')).to.deep.equal({
      '{method="get"}': [1],
      '{method="del"}': [0],
    });
  });

  it('match one to one, many to one and one to many', async () => {
    expect(await evaluatePromql(requests, 'errors{code="500"} / ignoring(code) requests')).to.deep.equal({
      '{method="get"}': [0.04],
    });
    const shares = { '{code="404", method="get"}': [0.05], '{code="500", method="get"}': [0.04] };
    expect(await evaluatePromql(requests, 'errors / ignoring(code) group_left requests')).to.deep.equal(shares);
    expect(await evaluatePromql(requests, 'errors / on(method) group_left requests')).to.deep.equal(shares);
    expect(await evaluatePromql(requests, 'requests * ignoring(code) group_right() errors{code="500"}')).to.deep.equal({
      '{code="500", method="get"}': [14_400],
    });
  });

  it('fill in values for series without a match', async () => {
    expect(await evaluatePromql(requests, 'requests - on(method) fill(0) errors{code="501"}')).to.deep.equal({
      '{method="get"}': [600],
      '{method="del"}': [34],
      '{method="put"}': [-3],
    });
  });

  it('combine sets of series by labels', async () => {
    const names = async (query: string): Promise<string[]> => Object.keys(await evaluatePromql(requests, query));
    expect(await names('errors and on(method) requests')).to.have.length(2);
    expect(await names('errors unless on(method) requests')).to.deep.equal([
      '{__name__="errors", code="501", method="put"}',
    ]);
    expect(await names('requests or on(method) errors')).to.have.length(3);
  });

  it('report series that cannot be matched', async () => {
    await fails(
      'requests / on(method) errors',
      'found duplicate series for the match group {method="get"} on the right hand-side of the operation: ' +
        '[{__name__="errors", code="404", method="get"}, {__name__="errors", code="500", method="get"}];' +
        'many-to-many matching not allowed: matching labels must be unique on one side',
    );
    await fails(
      'errors / on(method) requests',
      'multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)',
    );
    await fails('label_replace(errors, "code", "", "", "")', 'vector cannot contain metrics with the same labelset');
  });

  it('match step by step', async () => {
    const all = [series('a', {}, [1, 2, undefined]), series('b', {}, [10, 'stale', 30])];
    expect(await evaluatePromql(all, 'a + b', { atS: 0, endS: 120, stepS: 60 })).to.deep.equal({
      '{}': [11, undefined, 32],
    });
  });
});
