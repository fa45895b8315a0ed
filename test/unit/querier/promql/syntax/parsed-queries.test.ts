import { expect } from 'chai';

import { DIALECT } from '#services/querier/promql/index';
import { ParsedQueries } from '#services/querier/promql/syntax/parsed-queries';

describe('ParsedQueries', () => {
  it('returns the same nodes for a query that was used recently', () => {
    const queries = new ParsedQueries(DIALECT);
    const first = queries.of('m0');
    for (let i = 1; i < 10_000; i++) {
      queries.of(`m${i}`);
      expect(queries.of('m0')).to.equal(first);
    }
    expect(queries.of('m9999')).to.equal(queries.of('m9999'));
    const old = queries.of('m5');
    for (let i = 20_000; i < 20_500; i++) queries.of(`m${i}`);
    expect(queries.of('m5')).not.to.equal(old);
  });

  it('keeps neither long queries nor errors', () => {
    const queries = new ParsedQueries(DIALECT);
    const long = `m{a="${'x'.repeat(10_000)}"}`;
    expect(queries.of(long)).not.to.equal(queries.of(long));
    for (let i = 0; i < 2; i++) expect(() => queries.of('m{')).to.throw('parse error');
  });
});
