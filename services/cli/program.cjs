const { existsSync, readFileSync, statSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join } = require('node:path');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const DIST = join(__dirname, '../../dist');
/** Everything in one file (deploy/bundle.mjs): a process that starts reads one instead of 1,400. */
const BUNDLE = join(DIST, 'bundle/almanac/almanac.cjs');

/**
 * Growth of the young generation while the program loads: to 8 MiB at once. Nearly everything survives that is created then,
 * so each collection copies all of it; at 1 MiB thirty of them took a tenth of the CPU time of a start.
 */
const LOAD_FACTOR = 4;

/** Whether the bundle is there and nothing was compiled after it. */
function isBundled() {
  const compiled = join(DIST, 'tsconfig.tsbuildinfo');
  return existsSync(BUNDLE) && !(existsSync(compiled) && statSync(compiled).mtimeMs > statSync(BUNDLE).mtimeMs);
}

/** By how much V8's young generation grows; V8 only accepts cached code of processes with the same value. */
function setGrowthFactor(factor) {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

/** The program's exports, those of services/cli/main.ts. */
async function loadProgram() {
  return isBundled() ? runScript(compileBundle().script) : import('../../dist/services/cli/main.js');
}

/** Compiles the bundle, or takes its code from the cache (deploy/cache-code.cjs) if that is of this version of V8. */
function compileBundle() {
  const text = readFileSync(BUNDLE, 'latin1');
  // V8 only compares the lengths of texts, so the name of a cache has the hash with which its bundle ends.
  const cachePath = join(dirname(BUNDLE), `${text.slice(-64)}.v8`);
  const script = new Script(text, {
    filename: BUNDLE,
    cachedData: readIfPossible(cachePath),
  });
  return { script, cachePath };
}

/** A cache is missing while it is built, and may not be readable: nothing depends on it. */
function readIfPossible(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function runScript(script) {
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(BUNDLE), module, BUNDLE, dirname(BUNDLE));
  return module.exports;
}

module.exports = { BUNDLE, LOAD_FACTOR, compileBundle, isBundled, loadProgram, runScript, setGrowthFactor };
