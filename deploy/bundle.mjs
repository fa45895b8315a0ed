/** Puts the compiled program into one file (services/cli/program.cjs loads it), unless that was done since it was compiled. */
import { renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const { BUNDLE, isBundled } = createRequire(import.meta.url)('../services/cli/program.cjs');

if (!isBundled()) {
  await build({
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    entryPoints: ['dist/services/cli/main.js'],
    outfile: `${BUNDLE}.new`,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    // They find their machine code by where they lie.
    external: ['@duckdb/node-bindings', '@foxglove/wasm-zstd', '@node-rs/crc32', 'better-sqlite3', 'snappy'],
    define: { 'import.meta.url': 'BUNDLE_URL' },
    banner: { js: `const BUNDLE_URL = require('node:url').pathToFileURL(__filename).href;` },
    logLevel: 'warning',
  });
  renameSync(`${BUNDLE}.new`, BUNDLE); // never half of it
}
