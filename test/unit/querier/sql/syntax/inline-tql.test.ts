import { expect } from 'chai';

import { lexSql } from '#services/querier/sql/syntax/lex';
import { inlineTql } from '#services/querier/sql/syntax/inline-tql';
import { thrown } from '#test/support/failure';

function inlined(sql: string): { readonly sql: string; readonly queries: readonly string[] } {
  const tokens = lexSql(sql);
  const { query, parts } = inlineTql({ tokens, from: 0, to: tokens.count });
  return {
    sql: query.tokens.source,
    queries: parts.map(({ name, text }) => `${name}: ${text.query} ${text.alias ?? ''}`),
  };
}

describe('inlined TQL', () => {
  it('replaces each TQL statement by a name of its own', () => {
    const sql =
      'WITH a(x) AS (TQL EVAL (0, 1, 1) sum(up{a=")"}) AS v), b AS (SELECT 1) SELECT * FROM a, (tql eval (0, (1), 1) 2) c';
    expect(inlined(sql)).to.deep.equal({
      sql: 'WITH a(x) AS (SELECT * FROM __tql_0), b AS (SELECT 1) SELECT * FROM a, (SELECT * FROM __tql_1) c',
      queries: ['__tql_0: sum(up{a=")"}) v', '__tql_1: 2 '],
    });
  });

  it('leaves other queries unchanged', () => {
    const tokens = lexSql('SELECT 1 FROM tql');
    const query = { tokens, from: 0, to: tokens.count };
    expect(inlineTql(query).query).to.equal(query);
  });

  it('uses names that do not occur in the query', () => {
    expect(inlined('SELECT __tql_0, __TQL_2 FROM (TQL EVAL (0, 1, 1) a), (TQL EVAL (0, 1, 1) b)').sql).to.equal(
      'SELECT __tql_0, __TQL_2 FROM (SELECT * FROM __tql_1), (SELECT * FROM __tql_3)',
    );
  });

  it('finds short names at once, whatever the query contains', () => {
    const text = `'__tql_${'_'.repeat(1_000_000)}'`;
    expect(inlined(`SELECT ${text}`).queries).to.deep.equal([]);
    expect(inlined(`SELECT ${text} FROM (TQL EVAL (0, 1, 1) up)`).queries).to.deep.equal(['__tql_0: up ']);
    const names = Array.from({ length: 100_000 }, (_, i) => `__tql_${i}`).join();
    expect(inlined(`SELECT ${names} FROM (TQL EVAL (0, 1, 1) up)`).queries).to.deep.equal(['__tql_100000: up ']);
  });

  it('accepts only evaluations', () => {
    const { code, message } = thrown(() => inlined('WITH a AS (TQL EXPLAIN up) SELECT 1'));
    expect([code, message]).to.deep.equal(['invalid_syntax', 'Invalid TQL syntax: Only TQL EVAL is supported in CTEs']);
  });
});
