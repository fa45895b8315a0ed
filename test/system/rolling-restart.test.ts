import { expect } from 'chai';

import { rollingRestart } from '#test/support/rolling-restart';
import { tempFolder } from '#test/support/temp-folder';

describe('a rolling restart under load', function () {
  this.timeout(180_000);

  for (const [title, isSecured] of [
    ['is hidden by one retry of every client, and loses and duplicates no row', false],
    ['does so with TLS on every connection and users, too', true],
  ] as const) {
    it(title, async () => {
      let cleanUp: () => void = () => undefined;
      const folder = tempFolder((after) => (cleanUp = after));
      try {
        const summary = await rollingRestart(folder, { turns: 1, isSecured });
        expect(summary.restarts).to.equal(7);
        expect(summary.acknowledgedRows).to.be.greaterThan(1_000);
        expect(summary.answeredReads).to.be.greaterThan(10);
      } finally {
        cleanUp();
      }
    });
  }
});
