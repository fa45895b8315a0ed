import { expect } from 'chai';

import { evaluatePromql, runPromql, series } from '#test/support/promql-source';

const load = [
  series('load', { job: 'api', host: 'a' }, [1]),
  series('load', { job: 'api', host: 'b' }, [3]),
  series('load', { job: 'db', host: 'a' }, [NaN]),
  series('load', { job: 'db', host: 'c' }, [8]),
];

describe('aggregations', () => {
  it('group by labels or without labels', async () => {
    expect(await evaluatePromql(load, 'count by (job) (load)')).to.deep.equal({
      '{job="api"}': [2],
      '{job="db"}': [2],
    });
    expect(await evaluatePromql(load, 'max without (host) (load)')).to.deep.equal({
      '{job="api"}': [3],
      '{job="db"}': [8],
    });
    expect(await evaluatePromql(load, 'min(load)')).to.deep.equal({ '{}': [1] });
    expect(await evaluatePromql(load, 'sum by (job) (load{job="api"})')).to.deep.equal({ '{job="api"}': [4] });
    expect(await evaluatePromql(load, 'group by (none) (load)')).to.deep.equal({ '{}': [1] });
    expect(await evaluatePromql(load, 'count(nothing)')).to.deep.equal({});
  });

  it('compute statistics of floats', async () => {
    const api = 'load{job="api"}';
    expect(await evaluatePromql(load, `avg(${api})`)).to.deep.equal({ '{}': [2] });
    expect(await evaluatePromql(load, `stddev(${api})`)).to.deep.equal({ '{}': [1] });
    expect(await evaluatePromql(load, `stdvar(${api})`)).to.deep.equal({ '{}': [1] });
    expect(await evaluatePromql(load, `quantile(0.75, ${api})`)).to.deep.equal({ '{}': [2.5] });
    expect(await evaluatePromql(load, 'count_values("v", load)')).to.deep.equal({
      '{v="1"}': [1],
      '{v="3"}': [1],
      '{v="NaN"}': [1],
      '{v="8"}': [1],
    });
  });

  it('keep the precision of small numbers beside large ones', async () => {
    const all = [1e100, 1, -1e100, 1].map((value, i) => series('m', { i: String(i) }, [value]));
    expect(await evaluatePromql(all, 'sum(m)')).to.deep.equal({ '{}': [2] });
    const great = [1e308, 1e308].map((value, i) => series('m', { i: String(i) }, [value]));
    expect(await evaluatePromql(great, 'avg(m)')).to.deep.equal({ '{}': [1e308] });
    expect(await evaluatePromql(great, 'sum(m)')).to.deep.equal({ '{}': [Infinity] });
  });

  it('select the greatest and least series in order, NaN last', async () => {
    const values = async (query: string): Promise<unknown[]> => Object.values(await evaluatePromql(load, query)).flat();
    expect(await values('topk(2, load)')).to.deep.equal([8, 3]);
    expect(await values('bottomk(4, load)')).to.deep.equal([1, 3, 8, NaN]);
    expect(await values('topk by (job) (1, load)')).to.deep.equal([3, 8]);
    expect(await values('limitk(3, load)')).to.have.length(3);
    const some = await values('limit_ratio(0.5, load)');
    const others = await values('limit_ratio(-0.5, load)');
    expect([...some, ...others].map(String)).to.have.members(['1', '3', 'NaN', '8']);
    const equal = [2, 1, 2, 2].map((value, i) => series('m', { i: String(i) }, [value]));
    expect(Object.keys(await evaluatePromql(equal, 'topk(2, m)'))).to.deep.equal([
      '{__name__="m", i="0"}',
      '{__name__="m", i="2"}',
    ]);
    // Of equal values, also infinities, the first are selected.
    const endless = Array.from({ length: 600 }, (_, i) => series('m', { i: String(i) }, [Infinity]));
    for (const count of [1, 300]) {
      const first = Array.from({ length: count }, (_, i) => `{__name__="m", i="${i}"}`);
      expect(Object.keys(await evaluatePromql(endless, `topk(${count}, m)`))).to.have.members(first);
    }
    expect(await values('topk(0, load)')).to.deep.equal([]);
  });

  it('reject invalid parameters', async () => {
    const failure = await runPromql(load, 'topk(NaN, load) or topk(scalar(load) or 1, load)').then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(Error);
    expect((await runPromql(load, 'quantile(2, load)')).warnings).to.deep.equal([
      'PromQL warning: quantile value should be between 0 and 1, got 2 (1:10)',
    ]);
  });
});
