import { expect } from 'chai';

import { floatText } from '#services/querier/rpc/prom/json';

describe('floatText', () => {
  it('formats exponents, zeros, large numbers and what is no number as Prometheus does', () => {
    const small = [1e-7, 2.5e-7, 1e-10, 0, -0, 0.1].map((value) => floatText(value));
    expect(small.join(' ')).to.equal('1e-07 2.5e-07 1e-10 0 -0 0.1');
    const large = [4294967296, -4294967296, 4294967296.5, 1e20, 1e21, 1.5e21].map((value) => floatText(value));
    expect(large.join(' ')).to.equal('4294967296 -4294967296 4294967296.5 100000000000000000000 1e+21 1.5e+21');
    expect([Infinity, -Infinity, NaN].map((value) => floatText(value)).join(' ')).to.equal('+Inf -Inf NaN');
  });
});
