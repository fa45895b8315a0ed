import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Not imported: its types would change those of all files. */
const COMPILER = 'node_modules/assemblyscript/bin/asc.js';
const FOLDER = 'shared/wasm';
const NAMES = ['cell-rows', 'decode-deltas'] as const;

/** Compiles the sources of WebAssembly, and returns their modules as file name and text. */
export function wasmModules(): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'almanac-wasm-'));
  try {
    const files = new Map<string, string>();
    for (const name of NAMES) {
      const out = join(folder, `${name}.wasm`);
      const source = `${FOLDER}/assembly/${name}.ts`;
      // The sources allocate nothing: `stub` is the runtime without a collector.
      const flags = ['-O3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--outFile', out];
      execFileSync(process.execPath, [COMPILER, source, ...flags], { stdio: ['ignore', 'ignore', 'inherit'] });
      const base64 = readFileSync(out).toString('base64');
      const constant = name.replaceAll('-', '_').toUpperCase();
      const text = `// Written by npm run generate from assembly/${name}.ts.

/** The module, in Base64. */
export const ${constant} =
  '${base64}';
`;
      files.set(`${FOLDER}/gen/${name}.ts`, text);
    }
    return files;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
