import { createHash } from 'node:crypto';
import { extname, join } from 'node:path';

import { nodeFileSystem } from '#shared/fs/node-file-system';
import { PROGRAM_ROOT } from '#shared/fs/program-root';

import type { ReplyEncoding } from '../reply.js';

/** A file of the built dashboard, in memory. */
export interface BuiltFile {
  readonly type: string;
  /** A strong validator, with quotes. */
  readonly etag: string;
  readonly plain: Uint8Array;
  /** Compressed when the dashboard was built. */
  readonly encoded: Readonly<Record<ReplyEncoding, Uint8Array>>;
}

const FOLDER = join(PROGRAM_ROOT, 'dist/dashboard');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown; charset=utf-8',
};

/** The files that `npm run build` makes of `app/`, each read when it is first requested: together about a megabyte. */
export class BuiltFiles {
  #builtMs = -1;
  #names: Promise<ReadonlySet<string>> = Promise.resolve(new Set());
  #files = new Map<string, Promise<BuiltFile>>();

  /** Returns a file; undefined if the dashboard has none of this name. @param name for example `assets/index-x7.js`. */
  async read(name: string): Promise<BuiltFile | undefined> {
    this.#followBuilds();
    // Only names that were listed are read, so no path can leave the folder.
    if (!(await this.#names).has(name)) return undefined;
    let file = this.#files.get(name);
    if (file === undefined) this.#files.set(name, (file = readBuilt(name)));
    return file;
  }

  /** Starts again when the dashboard was built again, as it is during development: a page must not name files of another build. */
  #followBuilds(): void {
    const builtMs = nodeFileSystem.stampSync(join(FOLDER, 'index.html'))?.modifiedMs ?? 0;
    if (builtMs === this.#builtMs) return;
    this.#builtMs = builtMs;
    this.#files = new Map();
    this.#names = listNames();
  }
}

async function listNames(): Promise<ReadonlySet<string>> {
  const [top, assets] = await Promise.all([nodeFileSystem.list(FOLDER), nodeFileSystem.list(join(FOLDER, 'assets'))]);
  return new Set([...top, ...assets.map((name) => `assets/${name}`)].filter((name) => extname(name) in TYPES));
}

async function readBuilt(name: string): Promise<BuiltFile> {
  const path = join(FOLDER, name);
  const [plain, gzip, br] = await Promise.all(
    [path, `${path}.gz`, `${path}.br`].map((each) => nodeFileSystem.readFile(each)),
  );
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  return { type: TYPES[extname(name)], etag, plain, encoded: { gzip, br } };
}
