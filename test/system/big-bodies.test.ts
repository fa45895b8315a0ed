import { expect } from 'chai';

import { bigBodies } from '#test/support/big-bodies';
import { tempFolder } from '#test/support/temp-folder';

/** One after the other, so that a process which stands still over a body answers a few. How fast: `npm run trial -- big-bodies`. */
const ANSWERS_MIN = 20;
const PEAK_MEMORY_MIB = 1024;

describe('bodies of 60 MB', () => {
  let cleanUp: () => void = () => undefined;
  afterEach(() => cleanUp());

  for (const encoding of ['identity', 'gzip'] as const) {
    it(`are accepted whole (${encoding}) while /health responds, within a memory limit`, async () => {
      const folder = tempFolder((after) => (cleanUp = after));
      const figures = await bigBodies(folder, { bodies: 2, bytesPerBody: 60_000_000, encoding });
      const text = JSON.stringify(figures);
      expect(figures.statuses, text).to.deep.equal([204, 204]);
      expect(figures.health.asked, text).to.be.greaterThan(ANSWERS_MIN);
      expect(figures.peakMemoryMib, text).to.be.lessThan(PEAK_MEMORY_MIB);
    });
  }
});
