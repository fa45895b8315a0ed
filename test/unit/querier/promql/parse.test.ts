import { expect } from 'chai';

import { DIALECT } from '#services/querier/promql/index';
import { parseQuery, parseSelector } from '#services/querier/promql/syntax/parse';
import { prettyExpr, printExpr } from '#services/querier/promql/syntax/print';
import { exprTree } from '#services/querier/promql/syntax/tree';
import { AlmanacError } from '#shared/errors/almanac-error';

const print = (query: string): string => printExpr(parseQuery(query, DIALECT));

function rejects(query: string, text: string, isExperimental = true): void {
  let failure: unknown;
  try {
    parseQuery(query, { ...DIALECT, isExperimental });
  } catch (error) {
    failure = error;
  }
  expect(failure, query).to.be.instanceOf(AlmanacError);
  expect((failure as AlmanacError).message, query).to.equal(text);
  expect((failure as AlmanacError).code, query).to.equal('invalid_syntax');
}

describe('parseQuery', () => {
  it('parses what it prints', () => {
    const prints = (query: string, canonical = query): void => {
      expect(print(query)).to.equal(canonical);
      expect(print(canonical)).to.equal(canonical);
    };
    prints('up');
    prints(' up # comment\n', 'up');
    prints('{"my.metric", "a.label"="x"}', '{"a.label"="x",__name__="my.metric"}');
    prints('m{a=\'x\',b!="y",c=~`z.*`,}', 'm{a="x",b!="y",c=~"z.*"}');
    prints('rate(m[5m] offset 1h)');
    prints('m @ 1.5 offset -5m', 'm @ 1.500 offset -5m');
    prints('m[1h:5m] @ start()');
    prints('SUM(m) by (job)', 'sum by (job) (m)');
    prints('topk without(a,) (2, m)', 'topk without (a) (2, m)');
    prints('a * on (x) group_left (y) b');
    prints('a + fill(0) b', 'a + fill (0) b');
    prints('1 + 2 * 3 ^ -4');
    prints('"a\\"b\\n"');
  });

  it('breaks long expressions at their operators and arguments', () => {
    const long = `sum by (job) (rate(http_requests_total{job="a long name of a job", code=~"5.."}[5m])) / sum by (job) (up)`;
    expect(prettyExpr(parseQuery(long, DIALECT)).split('\n').length).to.be.greaterThan(2);
    expect(print(prettyExpr(parseQuery(long, DIALECT)))).to.equal(print(long));
  });

  it('returns the tree of an expression', () => {
    expect(exprTree(parseQuery('m{a="x"}[5m:] offset 1m', DIALECT))).to.deep.include({
      ...{ type: 'subquery', range: 300_000, step: 0, offset: 60_000 },
    });
    expect(exprTree(parseQuery('abs(m)', DIALECT))).to.deep.include({
      type: 'call',
      func: { name: 'abs', argTypes: ['vector'], variadic: 0, returnType: 'vector' },
    });
  });

  it('reports errors with the text and position of Prometheus', () => {
    rejects('', '1:1: parse error: no expression found in input');
    rejects('sum(', '1:5: parse error: unclosed left parenthesis');
    rejects('a b', '1:3: parse error: unexpected identifier "b"');
    rejects('f(x)', '1:1: parse error: unknown function with name "f"');
    rejects('abs(1, 2)', '1:1: parse error: expected 1 argument(s) in call to "abs", got 2');
    rejects('abs(1)', '1:5: parse error: expected type instant vector in call to function "abs", got scalar');
    rejects('rate(m)', '1:6: parse error: expected type range vector in call to function "rate", got instant vector');
    rejects('1 == 2', '1:3: parse error: comparisons between scalars must use BOOL modifier');
    rejects('1 and m', '1:1: parse error: set operator "and" not allowed in binary scalar expression');
    rejects('{a=""}', '1:1: parse error: vector selector must contain at least one non-empty matcher');
    rejects('m{__name__="n"}', '1:1: parse error: metric name must not be set twice: "m" or "n"');
    rejects('m[0s]', '1:3: parse error: duration must be greater than 0');
    rejects('m[1m2h]', '1:3: parse error: not a valid duration string: "1m2h"');
    rejects('é', "1:1: parse error: unexpected character: 'é'");
    rejects('"é" + é', "1:8: parse error: unexpected character: 'é'");
    rejects('m\n+ +', '2:4: parse error: unexpected end of input');
    rejects('foo(m $', "1:7: parse error: unexpected character: '$'");
    rejects('sum(m))', "1:8: parse error: unexpected right parenthesis ')'");
    rejects('m{a="b",b=~"[z-a]"}', '1:9: parse error: error parsing regexp: invalid character class range: `z-a`');
    rejects(
      'limitk(1, m)',
      '1:1: parse error: limitk() is experimental and must be enabled with --enable-feature=promql-experimental-functions',
      false,
    );
  });

  it('reports a violation of the grammar before a later tokenizer error', () => {
    rejects('sum by (a, m{b=""}', '1:13: parse error: unexpected "{" in grouping opts, expected "," or ")"');
    rejects('sum by (a', '1:10: parse error: unclosed left parenthesis');
    rejects('sum by (a m', '1:11: parse error: unexpected identifier "m" in grouping opts, expected "," or ")"');
    rejects('sum by (1', '1:9: parse error: unexpected number "1" in grouping opts, expected label');
    rejects('m + on (a, m{b="c"}', '1:13: parse error: unexpected "{" in grouping opts, expected "," or ")"');
    rejects('(1 2', '1:4: parse error: unexpected number "2"');
    rejects('a b $', '1:3: parse error: unexpected identifier "b"');
    rejects('bool $', '1:1: parse error: unexpected <bool>');
    rejects('m{a=b} $', '1:5: parse error: unexpected identifier "b" in label matching, expected string');
    rejects('m{a=~"("} $', '1:3: parse error: error parsing regexp: missing closing ): `(`');
  });

  it('rejects numbers that are too large', () => {
    const failed = 'parse error: error parsing number: strconv.ParseFloat: parsing';
    rejects('1e400', `1:1: ${failed} "1e400": value out of range`);
    rejects('m > -1e400', `1:6: ${failed} "1e400": value out of range`);
    rejects('0xffffffffffffffff', `1:1: ${failed} "0xffffffffffffffff": invalid syntax`);
    expect(print('0x7fffffff + Inf')).to.equal('2147483647 + +Inf');
  });

  it('rejects nesting that would overflow the stack', () => {
    rejects(`${'('.repeat(300)}1${')'.repeat(300)}`, '1:257: parse error: query is nested deeper than 256');
    rejects(`${'-'.repeat(3000)}1`, '1:2001: parse error: query has more than 2000 operators');
    const long = `m{a="${'x'.repeat(1 << 20)}"}`;
    rejects(long, `1:1: parse error: query has ${long.length} characters, more than ${1 << 20}`);
  });

  it('rejects invalid and too large regular expressions', () => {
    for (const pattern of ['(', 'a{1001}', '((a{100}){100}){100}', '(?=a)']) {
      expect(() => parseQuery(`m{a=~"${pattern}"}`, DIALECT), pattern).to.throw(AlmanacError, 'parse error');
    }
  });
});

describe('parseSelector', () => {
  const matchersOf = (text: string): string[] =>
    parseSelector(text, DIALECT).map(({ name, op, value }) => `${name}${op}${value}`);

  it('parses a selector', () => {
    expect(matchersOf('up')).to.deep.equal(['__name__=up']);
    expect(matchersOf(' up{job!="x", "a.b"=~"y.*"} ')).to.deep.equal(['job!=x', 'a.b=~y.*', '__name__=up']);
    expect(matchersOf('{"my.metric"}')).to.deep.equal(['__name__=my.metric']);
    expect(matchersOf('{}')).to.deep.equal([]);
    expect(matchersOf('sum')).to.deep.equal(['__name__=sum']);
  });

  it('rejects anything else', () => {
    const texts = {
      '': 'end of input',
      'up[5m]': '"["',
      'up offset 5m': '<offset>',
      '1': 'number "1"',
      'a + b': '<op:+>',
    };
    for (const [text, unexpected] of Object.entries(texts)) {
      expect(() => matchersOf(text), text).to.throw(`parse error: unexpected ${unexpected}`);
    }
  });
});
