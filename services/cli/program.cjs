const { existsSync, statSync } = require('node:fs');
const { join } = require('node:path');

const DIST = join(__dirname, '../../dist');
/** Everything in one file (deploy/bundle.mjs): a process that starts reads one instead of 1,400. */
const BUNDLE = join(DIST, 'bundle/almanac/almanac.cjs');

/** Whether the bundle is there and nothing was compiled after it. */
function isBundled() {
  const compiled = join(DIST, 'tsconfig.tsbuildinfo');
  return existsSync(BUNDLE) && !(existsSync(compiled) && statSync(compiled).mtimeMs > statSync(BUNDLE).mtimeMs);
}

/** The program's exports, those of services/cli/main.ts. */
async function loadProgram() {
  return isBundled() ? require(BUNDLE) : import('../../dist/services/cli/main.js');
}

module.exports = { BUNDLE, isBundled, loadProgram };
