import { expect } from 'chai';

import { evaluatePromql, series } from '#test/support/promql-source';

const minutes = [series('m', {}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])];

describe('selectors', () => {
  it('look back over a window that is open on the left', async () => {
    const one = [series('m', {}, [7])];
    expect(await evaluatePromql(one, 'm', { atS: 299.999 })).to.deep.equal({ '{__name__="m"}': [7] });
    expect(await evaluatePromql(one, 'm', { atS: 300 })).to.deep.equal({});
  });

  it('return nothing after a staleness marker until the next sample', async () => {
    const ended = [series('m', {}, [1, 'stale', undefined, 4])];
    expect(await evaluatePromql(ended, 'm', { atS: 0, endS: 240, stepS: 60 })).to.deep.equal({
      '{__name__="m"}': [1, undefined, undefined, 4, 4],
    });
    expect(await evaluatePromql(ended, 'count_over_time(m[5m])', { atS: 240 })).to.deep.equal({ '{}': [2] });
  });

  it('are shifted by offset and pinned by @', async () => {
    const at = { atS: 300, endS: 420, stepS: 60 };
    expect(await evaluatePromql(minutes, 'm offset 2m', at)).to.deep.equal({ '{__name__="m"}': [3, 4, 5] });
    expect(await evaluatePromql(minutes, 'm offset -1m', at)).to.deep.equal({ '{__name__="m"}': [6, 7, 8] });
    expect(await evaluatePromql(minutes, 'm @ 60', at)).to.deep.equal({ '{__name__="m"}': [1, 1, 1] });
    expect(await evaluatePromql(minutes, 'm @ end() offset 1m', at)).to.deep.equal({ '{__name__="m"}': [6, 6, 6] });
  });

  it('return the samples of a range, excluding its left edge', async () => {
    expect(await evaluatePromql(minutes, 'm[2m]', { atS: 300 })).to.deep.equal({
      '{__name__="m"}': [
        [240, 4],
        [300, 5],
      ],
    });
  });

  it('evaluate subqueries at multiples of their step', async () => {
    expect(await evaluatePromql(minutes, '(m * 2)[3m:90s]', { atS: 400 })).to.deep.equal({
      '{}': [
        [270, 8],
        [360, 12],
      ],
    });
    expect(await evaluatePromql(minutes, 'sum_over_time(m[3m:1m])', { atS: 300 })).to.deep.equal({ '{}': [12] });
  });

  it('match by equality and by anchored expressions', async () => {
    const all = [series('m', { a: 'x' }, [1]), series('m', { a: 'xy' }, [2]), series('m', {}, [3])];
    const values = async (query: string): Promise<unknown[]> => Object.values(await evaluatePromql(all, query)).flat();
    expect(await values('m{a="x"}')).to.deep.equal([1]);
    expect(await values('m{a!="x"}')).to.deep.equal([2, 3]);
    expect(await values('m{a=~"x"}')).to.deep.equal([1]);
    expect(await values('m{a=~"x.*"}')).to.deep.equal([1, 2]);
    expect(await values('m{a=~"x|"}')).to.deep.equal([1, 3]);
    expect(await values('m{a!~"[wx]+"}')).to.deep.equal([2, 3]);
  });

  it('interpolate between samples when smoothed', async () => {
    expect(await evaluatePromql(minutes, 'm smoothed', { atS: 90 })).to.deep.equal({ '{__name__="m"}': [1.5] });
    expect(await evaluatePromql(minutes, 'increase(m[2m] smoothed)', { atS: 210 })).to.deep.equal({ '{}': [2] });
    expect(await evaluatePromql(minutes, 'increase(m[2m] anchored)', { atS: 210 })).to.deep.equal({ '{}': [2] });
  });
});
