import { expect } from 'chai';

import { lex } from '#services/querier/sql/lex';
import { inlineTql } from '#services/querier/sql/tql/inline-text';
import { thrown } from '#test/support/failure';

function inlined(sql: string): { readonly sql: string; readonly queries: readonly string[] } {
  const tokens = lex(sql);
  const { query, parts } = inlineTql({ tokens, from: 0, to: tokens.count });
  return {
    sql: query.tokens.source,
    queries: parts.map(({ name, text }) => `${name}: ${text.query} ${text.alias ?? ''}`),
  };
}

describe('TQL inside of a query', () => {
  it('is taken out, each part under a name of its own', () => {
    const sql =
      'WITH a(x) AS (TQL EVAL (0, 1, 1) sum(up{a=")"}) AS v), b AS (SELECT 1) SELECT * FROM a, (tql eval (0, (1), 1) 2) c';
    expect(inlined(sql)).to.deep.equal({
      sql: 'WITH a(x) AS (SELECT * FROM __tql_0), b AS (SELECT 1) SELECT * FROM a, (SELECT * FROM __tql_1) c',
      queries: ['__tql_0: sum(up{a=")"}) v', '__tql_1: 2 '],
    });
  });

  it('leaves other queries alone', () => {
    const tokens = lex('SELECT 1 FROM tql');
    const query = { tokens, from: 0, to: tokens.count };
    expect(inlineTql(query).query).to.equal(query);
  });

  it('takes names that the query does not have', () => {
    expect(inlined('SELECT __tql_0 FROM (TQL EVAL (0, 1, 1) up)').sql).to.equal(
      'SELECT __tql_0 FROM (SELECT * FROM __tql__0)',
    );
  });

  it('can only be an evaluation', () => {
    const { code, message } = thrown(() => inlined('WITH a AS (TQL EXPLAIN up) SELECT 1'));
    expect([code, message]).to.deep.equal(['invalid_syntax', 'Invalid TQL syntax: Only TQL EVAL is supported in CTEs']);
  });
});
