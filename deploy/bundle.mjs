/**
 * Bundles the compiled program and its packages into one file, which services/cli/program.cjs loads with the code that V8
 * compiles in deploy/cache-code.cjs. Does nothing if the bundle is newer than both.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const { BUNDLE, isBundled } = createRequire(import.meta.url)('../services/cli/program.cjs');

const CACHE_MS_MAX = 120_000;

// Packages may change without the program: npm writes the first of these files at each installation.
const others = [new URL('../node_modules/.package-lock.json', import.meta.url), new URL(import.meta.url)];
const isOlder = (url) => existsSync(url) && statSync(url).mtimeMs > statSync(BUNDLE).mtimeMs;

const isCached = () => readdirSync(dirname(BUNDLE)).some((name) => name.endsWith('.v8'));

if (!isBundled() || !isCached() || others.some(isOlder)) {
  const common = {
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    // These packages locate their native code relative to their own path.
    external: [
      '@duckdb/node-bindings',
      '@foxglove/wasm-zstd',
      '@node-rs/crc32',
      'better-sqlite3',
      'lz4-napi',
      'snappy',
    ],
    logLevel: 'warning',
    // For profiles, which name functions by their sources.
    sourcemap: 'external',
    sourcesContent: false,
    // V8 keeps the text in its heap: comments and blanks are a third of it. Short lines keep stack traces useful.
    minifyWhitespace: true,
    legalComments: 'none',
    lineLimit: 200,
  };
  // Code of a worker thread is located next to the program, with the name that it has next to its caller.
  await build({
    ...common,
    entryPoints: [
      'dist/services/gateway/protocols/remotewrite/worker/worker-thread.js',
      'dist/services/gateway/protocols/otlp/json-thread.js',
      'dist/services/ingester/term-index/index-thread.js',
      'dist/services/querier/kernels/threads/scan-thread.js',
      'dist/shared/profiling/profile-thread.js',
    ],
    entryNames: '[name]',
    outdir: dirname(BUNDLE),
    format: 'esm',
  });
  await build({
    ...common,
    entryPoints: ['dist/services/cli/main.js'],
    outfile: `${BUNDLE}.new`,
    format: 'cjs',
    // Code from V8's cache cannot import.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'BUNDLE_URL' },
    banner: { js: `const BUNDLE_URL = require('node:url').pathToFileURL(__filename).href;` },
  });
  // One character beyond Latin-1 doubles the memory of the whole text; regular expressions can write it as \uXXXX. Files in
  // Latin-1 are read faster, too.
  const text = readFileSync(`${BUNDLE}.new`, 'utf8');
  const wide = /[^\0-\xff]/.exec(text);
  if (wide !== null)
    throw new Error(`the bundle has the character ${JSON.stringify(wide[0])}: escape it in the source`);
  // The function that Node.js puts around modules; a start that added it would copy the whole text.
  const hash = createHash('sha256').update(text).digest('hex');
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${text}\n})//${hash}`;
  writeFileSync(`${BUNDLE}.new`, wrapped, 'latin1');
  renameSync(`${BUNDLE}.new.map`, `${BUNDLE}.map`);
  renameSync(`${BUNDLE}.new`, BUNDLE); // atomic: no process loads an incomplete bundle
  const folder = dirname(BUNDLE);
  for (const name of readdirSync(folder)) if (name.endsWith('.v8')) rmSync(join(folder, name));
  try {
    const program = fileURLToPath(new URL('cache-code.cjs', import.meta.url));
    execFileSync(process.execPath, [program], { stdio: ['ignore', 'ignore', 'pipe'], timeout: CACHE_MS_MAX });
  } catch (error) {
    // Where a build may not listen, for example. The program works without it.
    console.warn(`the code cache cannot be written, so starts will take longer: ${error.message}`);
  }
}
