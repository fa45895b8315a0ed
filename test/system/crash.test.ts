import { expect } from 'chai';

import { crashRounds } from '#test/support/crash-rounds';
import { tempFolder } from '#test/support/temp-folder';

describe('kill -9', () => {
  let cleanUp: () => void = () => undefined;
  afterEach(() => cleanUp());

  it('neither loses nor duplicates an acknowledged row in five rounds with writers of every protocol', async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const { acknowledgedRows } = await crashRounds(folder, { rounds: 5, seed: 1 });
    for (const [writer, rows] of Object.entries(acknowledgedRows)) expect(rows, writer).to.be.greaterThan(0);
  });
});
