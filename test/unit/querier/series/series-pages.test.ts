import { expect } from 'chai';

import { pagesOf } from '#services/querier/series/series-pages';
import type { SeriesFile } from '#shared/contracts/gen/common';

describe('pagesOf', () => {
  function file(sidFirst: number, sidLast: number): SeriesFile {
    return { path: `${sidFirst}`, sidFirst, sidLast, bytes: 0, crc32c: 0 };
  }

  const files = [file(0, 299_999), file(300_000, 300_004), file(300_005, 400_000)];

  it('returns each series once, from a given series on', () => {
    for (const tagCount of [0, 1, 64, 65, 300, 4096]) {
      let next = 100_001;
      for (const { file: of, from, to } of pagesOf(files, next, tagCount)) {
        expect(from).to.equal(next);
        expect(to).to.be.above(from);
        expect([from >= of.sidFirst, to - 1 <= of.sidLast]).to.deep.equal([true, true]);
        next = to;
      }
      expect(next).to.equal(400_001);
    }
  });

  it('returns smaller pages for series with many tags, because each cell takes memory', () => {
    for (const tagCount of [65, 300, 1000, 4096]) {
      for (const { from, to } of pagesOf(files, 0, tagCount)) {
        expect((to - from) * tagCount).to.be.at.most(4 * 1024 * 1024);
      }
    }
    expect([...pagesOf([file(0, 99_999)], 0, 64)]).to.have.length(1);
  });
});
