import { expect } from 'chai';

import { compileRegex } from '#services/querier/series/matcher';

const LONG = 'ab'.repeat(32 * 1024);

/** Aperiodic text. */
const MIXED = Array.from({ length: 20_000 }, (_, i) => 'ab'[Math.floor(1000 * Math.sin(i) ** 2) % 2]).join('');

describe('compileMatcher', () => {
  it('matches long values with few states', () => {
    expect(compileRegex('(?i).*(error|warn|fatal).*').matches(LONG)).to.equal(false);
    expect(compileRegex('(?:ab){2,}').matches(LONG)).to.equal(true);
    const groups = compileRegex('(.*)a(?P<rest>.*)').groups(`${LONG}c`);
    expect(groups?.('1')).to.have.length(LONG.length - 2);
    expect(groups?.('rest')).to.equal('bc');
    expect(groups?.('3')).to.equal('');
  });

  it('matches thousands of alternatives', () => {
    const hosts = Array.from({ length: 3000 }, (_, i) => `host-${i}\\d?`);
    const regex = compileRegex(`(${hosts.join('|')})`);
    expect(regex.matches('host-29995')).to.equal(true);
    expect(regex.matches(LONG)).to.equal(false);
  });

  for (const pattern of ['((?:a?b?){1000})c', '(a|b)*b(a|b){200}c', '(a?)'.repeat(900)]) {
    it(`fails when one match takes too many steps: ${pattern.slice(0, 20)}`, () => {
      const regex = compileRegex(pattern);
      expect(() => regex.matches(MIXED) || regex.groups('a'.repeat(900))).to.throw(/too long to match/);
      expect(regex.matches('')).to.equal(!pattern.endsWith('c'));
    });
  }

  for (const pattern of [
    `(?:${'a?b?'.repeat(300)}){1000}`,
    `(?:${'a?b?'.repeat(300)}){2,1000}`,
    `\\Q[\\E(?:(?:${'a?'.repeat(800)}){10}){10}]`,
    `[]](?:[[:alpha:]]?${'a?'.repeat(800)}){100}`,
  ]) {
    it(`rejects an expression that compiles to too many instructions: ${pattern.slice(0, 12)}`, () => {
      expect(() => compileRegex(pattern)).to.throw('expression too large');
    });
  }

  for (const pattern of ['[A-Za-z0-9+/=]{1000}', '\\x{10000}{10}', '\\Q{1000}{1000}\\E', '(?:[0-9a-f]{8}-){100}']) {
    it(`accepts an expression within the limit: ${pattern}`, () => {
      expect(compileRegex(pattern).matches('')).to.equal(false);
    });
  }
});
