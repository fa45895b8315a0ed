/**
 * Builds the dashboard into `dist/dashboard`, each file also compressed with gzip and brotli. Does nothing if that is
 * newer than its sources and its packages.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const APP = join(ROOT, 'services/gateway/dashboard/app');
const BUILT = join(ROOT, 'dist/dashboard');

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const writtenMs = (path) => statSync(path).mtimeMs;

function isBuilt() {
  const page = join(BUILT, 'index.html');
  if (!existsSync(page)) return false;
  const sources = [...filesIn(APP), join(ROOT, 'node_modules/.package-lock.json'), fileURLToPath(import.meta.url)];
  return sources.every((path) => !existsSync(path) || writtenMs(path) <= writtenMs(page));
}

if (!isBuilt()) {
  const { build } = await import('vite'); // half a second that most starts need not spend
  // Beside the last one, so that a server that runs finds all files of one build.
  const next = `${BUILT}.${process.pid}`;
  await build({
    configFile: join(APP, 'vite.config.mjs'),
    mode: 'production',
    logLevel: 'warn',
    build: { outDir: next, emptyOutDir: true },
  });
  for (const path of filesIn(next)) {
    const bytes = readFileSync(path);
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
  }
  rmSync(BUILT, { recursive: true, force: true });
  renameSync(next, BUILT);
}
