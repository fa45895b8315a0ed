import { spawnSync } from 'node:child_process';

import { expect } from 'chai';

const ERRORS = new URL('../../../../shared/duckdb/errors.js', import.meta.url).href;

/** Translates an error of the engine in a process of its own, and returns how that ends. */
function endAfter(message: string): number | null {
  const program = `import { fromDuckDb } from ${JSON.stringify(ERRORS)}; fromDuckDb(new Error(${JSON.stringify(message)}));`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', program]).status;
}

describe('an engine that is lost', () => {
  it('ends the process, since no query would succeed again', () => {
    const lost =
      'FATAL Error: Failed: database has been invalidated because of a previous fatal error. The database must be restarted prior to being used again.';
    expect(endAfter(lost)).to.not.equal(0);
  });

  it('is distinguished from one that only failed', () => {
    for (const message of ['Out of Memory Error: failed to allocate', 'Conversion Error: x', 'INTERNAL Error: y']) {
      expect(endAfter(message), message).to.equal(0);
    }
  });
});
