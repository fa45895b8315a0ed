import { expect } from 'chai';

import { exprTree } from '#services/querier/promql/syntax/tree';
import { printExpr } from '#services/querier/promql/syntax/print';
import { parseQuery } from '#services/querier/promql/syntax/parse';
import { DIALECT } from '#services/querier/promql/index';
import { evaluatePromql, runPromql, series } from '#test/support/promql-source';

const LOAD = [series('load', { host: 'a' }, [1])];

async function errorOf(query: string): Promise<unknown> {
  return runPromql(LOAD, query).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('strings that are not valid UTF-8', () => {
  const errors: readonly (readonly [query: string, message: string])[] = [
    [String.raw`count_values("a\xc5z", load)`, String.raw`invalid label name "a\xc5z"`],
    [String.raw`count_values by (host) ("\xff", nothing)`, String.raw`invalid label name "\xff"`],
    ['count_values("", load)', 'invalid label name ""'],
    [
      String.raw`label_replace(load, "\xff", "x", "host", ".*")`,
      'invalid destination label name in label_replace(): \ufffd',
    ],
    [
      String.raw`label_replace(load, "a\377b", "x", "host", ".*")`,
      'invalid destination label name in label_replace(): a\ufffdb',
    ],
    ['label_replace(load, "", "x", "host", ".*")', 'invalid destination label name in label_replace(): '],
    [String.raw`label_join(load, "\xff", "-", "host")`, 'invalid destination label name in label_join(): \ufffd'],
    [String.raw`label_join(load, "x", "-", "\xff")`, 'invalid source label name in label_join(): \ufffd'],
    [String.raw`histogram_quantiles(load, "\xff", 0.5)`, String.raw`invalid label name "\xff"`],
  ];
  for (const [query, message] of errors) {
    it(`are no label names: ${query}`, async () => {
      expect(await errorOf(query)).to.include({ code: 'execute_query', message });
    });
  }

  it('are no labels to group by', async () => {
    const message = String.raw`1:8: parse error: invalid label name for grouping: "\xff"`;
    expect(await errorOf(String.raw`sum by("\xff") (load)`)).to.include({ code: 'invalid_syntax', message });
  });

  it('become U+FFFD in values', async () => {
    expect(await evaluatePromql(LOAD, String.raw`"a\xffb"`)).to.deep.equal({ string: 'a\ufffdb' });
    expect(await evaluatePromql(LOAD, String.raw`label_replace(load, "x", "\xff", "host", ".*")`)).to.deep.equal({
      '{__name__="load", host="a", x="\ufffd"}': [1],
    });
  });

  it('equal no valid string', async () => {
    const replacement = [series('load', { host: '\ufffd' }, [1])];
    expect(await evaluatePromql(replacement, String.raw`load{host="\xff"}`)).to.deep.equal({});
    expect(await evaluatePromql(replacement, 'load{host="\ufffd"}')).to.deep.equal({
      '{__name__="load", host="\ufffd"}': [1],
    });
  });

  it('keep their bytes when an expression is printed', () => {
    const query = String.raw`label_replace(m, "\xff", "é\x80", "", "")`;
    expect(printExpr(parseQuery(query, DIALECT))).to.equal(query);
    expect(exprTree(parseQuery(String.raw`"\xff"`, DIALECT))).to.deep.equal({ type: 'stringLiteral', val: '\ufffd' });
  });

  it('accept valid names beyond ASCII', async () => {
    expect(await evaluatePromql(LOAD, 'count_values("größe \u{1f600}", load)')).to.deep.equal({
      '{"größe \u{1f600}"="1"}': [1],
    });
  });
});
