import { expect } from 'chai';

import { parseTimestampText } from '#services/querier/sql/syntax/timestamp-text';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

const USUAL = '2024-01-31T08:00:00Z';
const ROUNDS = 20_000;
const CHARS = '0123456789-:TZ tz.+/';

describe('the text of a timestamp', () => {
  it('is the same time with and without a space before it, whatever its characters are', () => {
    const random = new SeededRandom(3);
    const pick = (length: number): number => random.nextU32() % length;
    let valid = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const chars = Array.from(USUAL);
      for (let changes = pick(6); changes > 0; changes--) chars[pick(chars.length)] = CHARS[pick(CHARS.length)];
      const text = chars.join('');
      const found = parseTimestampText(text);
      expect(found, text).to.equal(parseTimestampText(` ${text}`));
      if (found !== undefined) valid++;
    }
    expect(valid).to.be.within(ROUNDS / 20, ROUNDS - ROUNDS / 20);
  });

  for (const [text, ms] of [
    ['2016-02-29T23:59:59Z', Date.UTC(2016, 1, 29, 23, 59, 59)],
    ['1969-12-31T23:59:59Z', -1000],
    ['0099-01-01T00:00:00Z', new Date('0099-01-01').getTime()],
    ['0100-01-01T00:00:00Z', new Date('0100-01-01').getTime()],
    ['2015-02-29T00:00:00Z', undefined],
    ['2015-00-10T00:00:00Z', undefined],
    ['2015-13-10T00:00:00Z', undefined],
    ['2015-01-00T00:00:00Z', undefined],
    ['2015-01-10T24:00:00Z', undefined],
    ['2015-01-10T23:60:00Z', undefined],
    ['2015-01-10T23:00:60Z', undefined],
    ['-015-01-10T00:00:00Z', undefined],
  ] as const) {
    it(`${text} is ${ms ?? 'no time'}`, () => {
      expect(parseTimestampText(text)).to.equal(ms === undefined ? undefined : BigInt(ms) * 1_000_000n);
    });
  }
});
