import { expect } from 'chai';
import fc from 'fast-check';

import {
  parseSearch,
  SearchError,
  withCondition,
  type SearchNode,
} from '#services/gateway/dashboard/app/screens/logs/search/search';

const words = (text: string): SearchNode => ({ kind: 'words', text });
const field = (name: string, operator: '=' | '!=' | '~' | '!~' | '>=', value: string, at = 0): SearchNode => {
  return { kind: 'field', name, operator, value, at };
};

describe('the search line of logs', () => {
  it('joins words and phrases by AND', () => {
    expect(parseSearch('error "disk full"')).to.deep.equal({ kind: 'and', of: [words('error'), words('disk full')] });
    expect(parseSearch('a AND b')).to.deep.equal({ kind: 'and', of: [words('a'), words('b')] });
    expect(parseSearch('  ')).to.equal(undefined);
  });

  it('reads fields with each operator', () => {
    expect(parseSearch('app=shop')).to.deep.equal(field('app', '=', 'shop'));
    expect(parseSearch('app!="two words"')).to.deep.equal(field('app', '!=', 'two words'));
    expect(parseSearch('line~a|b')).to.deep.equal(field('line', '~', 'a|b'));
    expect(parseSearch('line=~^a')).to.deep.equal(field('line', '~', '^a'));
    expect(parseSearch('line!~"a b"')).to.deep.equal(field('line', '!~', 'a b'));
    expect(parseSearch('level>=warn')).to.deep.equal(field('level', '>=', 'warn'));
    expect(parseSearch('app=')).to.deep.equal(field('app', '=', ''));
    expect(parseSearch('"odd name"=1')).to.deep.equal(field('odd name', '=', '1'));
    expect(parseSearch('meta.trace-id=0a')).to.deep.equal(field('meta.trace-id', '=', '0a'));
  });

  it('binds AND closer than OR, and minus closer than both', () => {
    expect(parseSearch('a OR b -c')).to.deep.equal({
      kind: 'or',
      of: [words('a'), { kind: 'and', of: [words('b'), { kind: 'not', of: words('c') }] }],
    });
    expect(parseSearch('-(a OR b) NOT c')).to.deep.equal({
      kind: 'and',
      of: [
        { kind: 'not', of: { kind: 'or', of: [words('a'), words('b')] } },
        { kind: 'not', of: words('c') },
      ],
    });
  });

  it('keeps parentheses of a value, and those around it', () => {
    expect(parseSearch('(line~(a|b)c)')).to.deep.equal(field('line', '~', '(a|b)c', 1));
  });

  it('takes what only looks like syntax for words', () => {
    for (const text of ['a->b', '-', 'or', 'http://h/p?q', '=5', 'x-1', '日本']) {
      expect(parseSearch(text), text).to.deep.equal(words(text));
    }
  });

  it('unescapes quotes, and leaves the backslashes of regular expressions', () => {
    expect(parseSearch('"a \\"b\\" \\\\ \\n \\d"')).to.deep.equal(words('a "b" \\ \n \\d'));
  });

  it('reports where a search is wrong', () => {
    const faultAt = (text: string): number => {
      try {
        parseSearch(text);
      } catch (error) {
        if (error instanceof SearchError) return error.at;
        throw error;
      }
      throw new Error(`${text} was read`);
    };
    expect(faultAt('a "b')).to.equal(2);
    expect(faultAt('a (b')).to.equal(2);
    expect(faultAt('a) b')).to.equal(1);
    expect(faultAt('OR a')).to.equal(0);
    expect(faultAt('a OR')).to.equal(4);
    expect(faultAt('()')).to.equal(1);
    expect(faultAt('('.repeat(60))).to.equal(50);
    expect(faultAt('x '.repeat(300))).to.equal(400);
    expect(faultAt('x'.repeat(20_000))).to.equal(10_000);
  });

  it('reads back every condition that a click adds', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), fc.string({ unit: 'binary' }), (name, value) => {
        const added = withCondition('', name, '=', value);
        expect(parseSearch(added)).to.deep.equal(field(name, '=', value));
        expect(withCondition(added, name, '=', value)).to.equal(added);
      }),
    );
  });

  it('replaces the opposite of a condition, and keeps alternatives together', () => {
    expect(withCondition('x app=a y', 'app', '!=', 'a')).to.equal('x y app!=a');
    expect(withCondition('a OR b', 'app', '=', 'x y')).to.equal('(a OR b) app="x y"');
  });
});
