import { expect } from 'chai';

import { Cursor } from '#services/querier/sql/syntax/cursor';
import { lexSql } from '#services/querier/sql/syntax/lex';
import { splitStatements } from '#services/querier/sql/syntax/split';
import { parseTql, type TqlText } from '#services/querier/sql/syntax/tql-text';
import { thrown } from '#test/support/failure';

function parsed(text: string): TqlText {
  const tokens = lexSql(text);
  return parseTql(new Cursor(tokens, 0, tokens.count));
}

function parts(text: string): unknown[] {
  const { verb, format, isVerbose, parameters, query, alias } = parsed(text);
  const given = parameters?.map(({ tokens, from, to }) => tokens.source.slice(tokens.start(from), tokens.end(to - 1)));
  return [verb, format, isVerbose, given, query, alias];
}

describe('TQL statement text', () => {
  it('reads the verb, options, parameters, query and alias', () => {
    expect(parts("TQL EVAL (0, 10, '5s') up")).to.deep.equal([
      'eval',
      'text',
      false,
      ['0', '10', "'5s'"],
      'up',
      undefined,
    ]);
    expect(parts("tql evaluate(now() - interval '1' day, now(), 0.5, '1m'), up AS v")).to.deep.equal([
      ...['eval', 'text', false, ["now() - interval '1' day", 'now()', '0.5', "'1m'"], 'up', 'v'],
    ]);
    expect(parts('TQL EXPLAIN VERBOSE FORMAT json sum(up)')).to.deep.equal([
      ...['explain', 'json', true, undefined, 'sum(up)', undefined],
    ]);
    expect(parts('TQL ANALYZE FORMAT GRAPHVIZ (0, 1, 1) (a) AS "My ""x"""')).to.deep.equal([
      ...['analyze', 'graphviz', false, ['0', '1', '1'], '(a)', 'My "x"'],
    ]);
  });

  it('keeps the query unchanged, whatever SQL would make of it', () => {
    const odd = [
      'rate(up{a="x\\"; DROP TABLE t; --"}[5m1s])',
      'up{a=`\\`} # ; a comment with a quote " and )',
      "sum by (le) (up{a='it\\'s'})\n/ 2",
      'up offset -5m @ 1.5e3 =~ 0x1F !~ $',
      '{"a.b:c", "x y"=~"[^)]+"}',
    ];
    for (const query of odd) expect(parsed(`TQL EVAL (0, 1, 1) ${query}`).query).to.equal(query);
  });

  it('ends at a semicolon outside of strings', () => {
    const tokens = lexSql('TQL EVAL (0, 1, 1) up{a=";"} AS v ; SELECT 1;; TQL EVAL (0, 1, 1) 2');
    const queries = splitStatements(tokens).map((cursor) => (cursor.sees('TQL') ? parseTql(cursor).query : 'sql'));
    expect(queries).to.deep.equal(['up{a=";"}', 'sql', '2']);
  });

  it('reads no alias inside a string', () => {
    expect(parts('TQL EVAL (0, 1, 1) up{a="b AS c"}')[4]).to.equal('up{a="b AS c"}');
    expect(parts('TQL EVAL (0, 1, 1) alias')[4]).to.equal('alias');
  });

  it('ignores other statements', () => {
    for (const sql of ['SELECT * FROM tql', 'SELECT tql FROM (tql) WHERE tql = 1', 'WITH tql AS (SELECT 1) SELECT 2']) {
      expect(splitStatements(lexSql(sql))).to.have.length(1);
      expect(() => lexSql(`${sql} WHERE x = 'open`)).to.throw();
    }
  });

  const fails = (text: string, message: string): void => {
    it(`refuses ${text}`, () => {
      const { code, message: found } = thrown(() => parsed(text));
      expect([code, found]).to.deep.equal(['invalid_syntax', message]);
    });
  };
  const wrongCount = 'Invalid TQL syntax: Expected 3 or 4 expressions in TQL parameters (start, end, step, [lookback])';
  fails('TQL EVAL (0, 1) up', `${wrongCount}, but found 2`);
  fails('TQL EVAL (0, 1, 1, 1, 1) up', `${wrongCount}, but found 5`);
  fails('TQL EVAL () up', `${wrongCount}, but found 0`);
  fails('TQL EVAL (0, , 1) up', 'Invalid TQL syntax: expected an expression, found ,');
  fails('TQL EVAL (0, 1, 1)', 'Invalid TQL syntax: expected a PromQL query');
  fails('TQL EXPLAIN FORMAT YAML up', 'Invalid TQL syntax: unknown format yaml, expected JSON, TEXT or GRAPHVIZ');
  fails('TQL RUN up', 'Invalid TQL syntax: expected EVAL, EXPLAIN or ANALYZE');
});
