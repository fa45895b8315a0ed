import { expect } from 'chai';

import { wholeText } from '#shared/bytes/whole-text';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

describe('wholeText', () => {
  it('formats integers of every size as JavaScript does', () => {
    const random = new SeededRandom(1);
    const ends = [0, 2 ** 31, 1e9, 1e10, 1e15, 2 ** 53, 2 ** 63, 1e21].flatMap((end) => [end - 1, end, end + 1]);
    const drawn = Array.from({ length: 10_000 }, () => Math.floor(2 ** (random.fraction() * 60)));
    for (const value of [...ends, ...drawn, 3e9, 7_000_000_001, 12_000_000_000]) {
      expect(wholeText(value)).to.equal(String(value));
      expect(wholeText(-value)).to.equal(String(-value));
    }
  });
});
