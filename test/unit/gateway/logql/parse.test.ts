import { expect } from 'chai';

import { parseLogql, parseLabelMatchers } from '#services/gateway/logql/syntax/parse';
import { printLogql } from '#services/gateway/logql/syntax/print';

/** Queries in their canonical form, which printing keeps. */
const CANONICAL = [
  '{}',
  '{app="x"}',
  '{app="x", b!="y", c=~"a.*", d!~"b|c"}',
  '{app="x"} |= "a" or "b" != "c" |~ "d+" !~ "e" |> "<_>f" !> "g<_>"',
  '{app="x"} | json | logfmt --strict --keep-empty | unpack | decolorize',
  '{app="x"} | json a="b.c[0]", d="e" | logfmt f="g"',
  '{app="x"} | pattern "<ip> <_>" | regexp "(?P<a>b)"',
  '{app="x"} | ( a="b" and ( c > 5 or d <= 1m30s ) )',
  '{app="x"} | a >= 5KB | b == -1.5 | c != 3',
  '{app="x"} | line_format "{{.a}}" | label_format a=b, c="{{.d}}" | drop e, f="g" | keep h',
  'sum by (a, b)(rate({app="x"} |= "e" [5m]))',
  'topk without (a)(3, count_over_time({app="x"} [1h30m] offset 1m))',
  'quantile_over_time(0.99, {app="x"} | json | unwrap duration(latency) | __error__="" [1m]) by (host)',
  '((vector(1) + vector(1)) > bool 2)',
  '(rate({a="b"} [1s]) / on (a) group_left (c) rate({a="c"} [1s]))',
  'label_replace(rate({a="b"} [1s]), "x", "$1", "y", "(.*)")',
  '(rate({a="b"} [1s]) and ignoring (c) rate({a="c"} [1s]))',
  'sort_desc(absent_over_time({a="b"} [1ms]))',
];

/** Other spellings, and their canonical form. */
const SPELLINGS: readonly (readonly [string, string])[] = [
  ['{app=`x\\y`,}', '{app="x\\\\y"}'],
  ["{app='x'}", '{app="x"}'],
  ['{app="a\\tb"} # comment', '{app="a\\tb"}'],
  ['({app="x"} |= "a") |= "b"', '{app="x"} |= "a" |= "b"'],
  ['{app="x"} | a="b", c="d"', '{app="x"} | ( a="b" and c="d" )'],
  ['{app="x"} | a="b" or c="d" and e="f"', '{app="x"} | ( a="b" or ( c="d" and e="f" ) )'],
  ['rate({app="x"}[5m] | json)', 'rate({app="x"} | json [5m])'],
  ['rate(({app="x"} | json)[5m])', 'rate({app="x"} | json [5m])'],
  ['sum(rate({app="x"}[300s])) by (a)', 'sum by (a)(rate({app="x"} [5m]))'],
  ['1 + 2 * 3 ^ 2 ^ 2', '(1 + (2 * (3 ^ (2 ^ 2))))'],
  ['vector(1) - vector(2) - vector(3)', '((vector(1) - vector(2)) - vector(3))'],
  ['vector(1) or vector(2) and vector(3)', '(vector(1) or (vector(2) and vector(3)))'],
  ['{app="x"} | json="y"', '{app="x"} | json="y"'],
  ['count_over_time({a="b"}[1d])', 'count_over_time({a="b"} [24h])'],
  ['rate({a="b"}[1m] offset -5s)', 'rate({a="b"} [1m] offset -5s)'],
];

const ERRORS: readonly (readonly [string, string])[] = [
  ['', 'parse error at line 1, col 1: syntax error: unexpected $end'],
  ['{app="x"', 'parse error at line 1, col 9: syntax error: unexpected $end, expecting }'],
  ['{app=x}', 'parse error at line 1, col 6: syntax error: unexpected IDENTIFIER, expecting STRING'],
  ['{app="x"}\n| json |', 'parse error at line 2, col 9: syntax error: unexpected $end, expecting IDENTIFIER'],
  ['{app="x', 'literal not terminated'],
  ['{app="\\q"}', 'unknown escape'],
  ['{app="x"} |= 5', 'unexpected NUMBER, expecting STRING'],
  ['{app="x"} |= ip("1.2.3.4")', 'ip() is not supported'],
  ['{app="x"} | a > "5"', 'unexpected STRING, expecting NUMBER, DURATION or BYTES'],
  ['{app="x"} | a =~ 5', 'unexpected NUMBER, expecting STRING'],
  ['{app="x"} | logfmt --fast', 'unknown parser flag --fast'],
  ['{app="x"} | unwrap a', 'unwrap is only allowed in a range aggregation'],
  ['rate({app="x"})', 'unexpected ), expecting RANGE'],
  ['rate({app="x"}[0s])', 'the range must be longer than 0'],
  ['rate({app="x"}[5])', 'unexpected NUMBER, expecting DURATION'],
  ['rate({app="x"}[300y])', 'longer than 292 years'],
  ['sum_over_time({app="x"}[5m])', 'invalid aggregation sum_over_time without unwrap'],
  ['count_over_time({app="x"} | unwrap a [5m])', 'invalid aggregation count_over_time with unwrap'],
  ['count_over_time({app="x"}[5m]) by (a)', 'grouping not allowed for count_over_time aggregation'],
  ['quantile_over_time({app="x"} | unwrap a [5m])', 'parameter required for operation quantile_over_time'],
  ['rate(2, {app="x"}[5m])', 'unsupported parameter for operation rate'],
  ['topk(rate({app="x"}[5m]))', 'parameter required for operation topk'],
  ['topk(0, rate({app="x"}[5m]))', 'must be greater than 0'],
  ['sum(2, rate({app="x"}[5m]))', 'unsupported parameter for operation sum'],
  ['sum({app="x"})', 'expecting a range aggregation'],
  ['{app="x"} + 1', 'unexpected type for left leg of binary operation (+): log query'],
  ['1 + {app="x"}', 'unexpected type for right leg of binary operation (+): log query'],
  ['1 + bool 1', 'bool modifier can only be used on comparison operators'],
  ['frob({app="x"}[5m])', 'unexpected IDENTIFIER'],
  ['{app="x"} ;', 'unexpected character ";"'],
];

/** Queries that would take too much memory or stack. */
const HOSTILE: readonly (readonly [string, string, string])[] = [
  ['deep parentheses', '('.repeat(5_000), 'nested more than'],
  ['deep functions', 'sum('.repeat(5_000), 'nested more than'],
  ['deep conditions', `{} | ${'('.repeat(5_000)}`, 'nested more than'],
  ['10,000 stages', `{}${' | json'.repeat(10_000)}`, 'longer than 65536 characters'],
  ['30,000 tokens', '|='.repeat(30_000), 'more than 20000 tokens'],
  ['1,000 stages', `{}${' | json'.repeat(1_000)}`, 'more than 100 stages'],
  ['1,000 conditions', `{} | a="b"${' or a="b"'.repeat(1_000)}`, 'more than 200 conditions'],
  ['1,000 matchers', `{${'a="b",'.repeat(1_000)}}`, 'more than 200 matchers'],
  ['1,000 operations', `1${' + 1'.repeat(1_000)}`, 'more than 200 operations'],
  ['a chain of powers', `1${' ^ 1'.repeat(1_000)}`, 'nested more than'],
  ['a query of 100 kB', `{a="${'x'.repeat(100_000)}"}`, 'longer than'],
];

describe('LogQL parser', () => {
  for (const query of CANONICAL) {
    it(`keeps ${query}`, () => expect(printLogql(parseLogql(query))).to.equal(query));
  }

  for (const [query, canonical] of SPELLINGS) {
    it(`prints ${query} as ${canonical}`, () => expect(printLogql(parseLogql(query))).to.equal(canonical));
  }

  for (const [query, error] of ERRORS) {
    it(`refuses ${query}: ${error}`, () => expect(() => parseLogql(query)).to.throw(error));
  }

  for (const [name, query, error] of HOSTILE) {
    it(`refuses ${name}`, () => expect(() => parseLogql(query)).to.throw(error));
  }

  it('parses selectors alone', () => {
    expect(parseLabelMatchers('{a="b"}')).to.deep.equal([{ name: 'a', op: '=', value: 'b' }]);
    expect(() => parseLabelMatchers('{a="b"} |= "c"')).to.throw('unexpected |=');
  });
});
