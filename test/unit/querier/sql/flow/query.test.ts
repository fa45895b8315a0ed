import { expect } from 'chai';

import { isVolatile, normalisedQuery } from '#services/querier/sql/flow/query';
import { lexSql } from '#services/querier/sql/syntax/lex';

function normalised(sql: string): string {
  const tokens = lexSql(sql);
  return normalisedQuery({ tokens, from: 0, to: tokens.count });
}

describe('normalisedQuery', () => {
  for (const [written, printed] of [
    ['select  a\nfrom t where a>10', 'SELECT a FROM t WHERE a > 10'],
    ['select a, -- comment\n b, from t', 'SELECT a, b FROM t'],
    ['SELECT COUNT( * ) AS n FROM "My Table" WHERE x > -1', 'SELECT COUNT(*) AS n FROM "My Table" WHERE x > -1'],
    ['select trunc(size, -1) :: int as b from db . t', 'SELECT trunc(size, -1)::INT AS b FROM db.t'],
    ["select a from t where b in ('x','y') and c-1 = 2", "SELECT a FROM t WHERE b IN ('x', 'y') AND c - 1 = 2"],
  ]) {
    it(`prints ${JSON.stringify(written)} on one line`, () => {
      expect(normalised(written)).to.equal(printed);
      expect(normalised(printed)).to.equal(printed);
    });
  }
});

describe('isVolatile', () => {
  it('finds the time and randomness, but not columns of a table with such a name', () => {
    const isSo = (sql: string): boolean => {
      const tokens = lexSql(sql);
      return isVolatile({ tokens, from: 0, to: tokens.count });
    };
    expect(isSo('SELECT now()')).to.equal(true);
    for (const volatile of [
      'Current_Timestamp',
      'transaction_timestamp()',
      'main.uuidv7()',
      '"random" ()',
      'current_localtimestamp()',
      'rand()',
      'age(ts)',
      'age(date_bin(a, ts))',
    ]) {
      expect(isSo(`SELECT ${volatile} FROM t`), volatile).to.equal(true);
    }
    expect(isSo('SELECT t.today, "now", random, age(a, f(b)) FROM t')).to.equal(false);
  });
});
