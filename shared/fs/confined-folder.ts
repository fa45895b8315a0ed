import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize } from 'node:path';

import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { diskError } from './disk-error.js';
import type { FileSystem } from './file-system.js';
import { errorCode } from './node-file-system.js';

const PATH_BYTES_MAX = 4096;
const FILES_MAX = 10_000;
/** Names of files that are being written begin with it. */
const SCRATCH = '.almanac-new-';
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
/** Characters that the engine would expand. */
const GLOB = /[*?[\]]/;

/** A file to be read. */
export interface ConfinedFile {
  /** Last part of its path. */
  readonly name: string;
  /** Its path inside of the folder, for messages. */
  readonly relativePath: string;
  /** Real path, for the engine; messages must not contain it. */
  readonly path: string;
}

/**
 * A folder in which clients may name files. No path leads outside: not by `..`, not as an absolute path, not through a
 * symbolic link.
 */
export class ConfinedFolder {
  readonly #given: string;
  readonly #root: string;
  readonly #fs: FileSystem;
  #scratchCount = 0;

  private constructor(given: string, root: string, fs: FileSystem) {
    this.#given = given;
    this.#root = root;
    this.#fs = fs;
  }

  /** Creates the folder if it does not exist. @param path absolute. */
  static async open(path: string, fs: FileSystem): Promise<ConfinedFolder> {
    if (GLOB.test(path)) throw new AlmanacError('invalid_arguments', `"${path}" has one of the characters * ? [ ]`);
    await fs.makeFolder(path);
    return new ConfinedFolder(normalize(path).replace(/\/+$/, ''), await realpath(path), fs);
  }

  /** Real path of the folder. */
  get root(): string {
    return this.#root;
  }

  /**
   * Lists what a path names: a file, or the files in a folder, by name and without subfolders. Files whose names begin with
   * a dot are left out.
   *
   * @throws `invalid_arguments` for a path outside of the folder, of something else than files, or of too many;
   *   `unsupported` for a URL.
   */
  async filesAt(path: string): Promise<ConfinedFile[]> {
    const real = await this.#existing(path);
    const stats = await stat(real);
    if (!stats.isDirectory()) {
      if (path.endsWith('/') || !stats.isFile()) throw refused(path, 'it is not a file');
      return [this.#fileAt(real)];
    }
    const files: ConfinedFile[] = [];
    for (const entry of (await readdir(real, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (!entry.isFile() || entry.name.startsWith('.')) continue;
      if (GLOB.test(entry.name)) throw refused(path, `its file "${entry.name}" has one of the characters * ? [ ]`);
      files.push(this.#fileAt(join(real, entry.name)));
      if (files.length > FILES_MAX) throw refused(path, `it has more than ${FILES_MAX} files`);
    }
    return files;
  }

  #fileAt(path: string): ConfinedFile {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return { name, relativePath: path.slice(this.#root.length).replace(/^\//, ''), path };
  }

  /**
   * Writes a file, which replaces one of this path only when it is complete and durable. Missing folders are created.
   *
   * @param write creates the file at the given path; if it throws, nothing is left.
   * @throws as `filesAt`; `storage_unavailable`; errors of `write`.
   */
  async replaceFile<T>(path: string, write: (scratchPath: string) => Promise<T>): Promise<T> {
    const target = this.#absolute(path);
    if (path.endsWith('/') || target === this.#root) throw refused(path, 'it is the path of a folder, not of a file');
    const folder = await this.#madeFolder(path, dirname(target));
    const final = join(folder, target.slice(target.lastIndexOf('/') + 1));
    await this.#checkReplaceable(path, final);
    const scratch = join(folder, `${SCRATCH}${process.pid}-${++this.#scratchCount}`);
    try {
      await this.#fs.remove(scratch);
      const result = await write(scratch);
      const file = await this.#fs.open(scratch, 'update');
      await file.sync().finally(() => file.close());
      await this.#fs.rename(scratch, final);
      await this.#fs.syncFolder(folder);
      return result;
    } catch (error) {
      await this.#fs.remove(scratch).catch(() => undefined);
      throw diskError(error, `cannot write "${path}"`);
    }
  }

  async #checkReplaceable(path: string, final: string): Promise<void> {
    const stats = await lstat(final).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw refused(path, errorCode(error) ?? 'it cannot be read');
    });
    if (stats !== undefined && !stats.isFile()) throw refused(path, 'it exists and is not a file');
  }

  /** Creates a folder whose existing part is inside, and returns its real path. */
  async #madeFolder(path: string, folder: string): Promise<string> {
    let existing = folder;
    let real: string | undefined;
    while (real === undefined) {
      real = await realpath(existing).catch((error: unknown) => {
        if (errorCode(error) !== 'ENOENT') throw refused(path, errorCode(error) ?? 'it cannot be read');
        return undefined;
      });
      if (real === undefined) existing = dirname(existing);
    }
    // A part that does not exist cannot be a link, unless it is one to nowhere, which the creation meets as existing.
    const made = join(real, folder.slice(existing.length));
    this.#checkInside(path, made);
    await this.#fs.makeFolder(made).catch((error: unknown) => {
      const failure = diskError(error, `cannot write "${path}"`);
      throw failure === error ? refused(path, errorCode(error) ?? 'its folder cannot be created') : failure;
    });
    const result = await realpath(made);
    this.#checkInside(path, result);
    return result;
  }

  async #existing(path: string): Promise<string> {
    const absolute = this.#absolute(path);
    let real: string;
    try {
      real = await realpath(absolute);
    } catch (error) {
      const isMissing = errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR';
      throw refused(path, isMissing ? 'there is no such file' : (errorCode(error) ?? 'it cannot be read'));
    }
    this.#checkInside(path, real);
    if (GLOB.test(real)) throw refused(path, 'it leads to a path with one of the characters * ? [ ]');
    return real;
  }

  #checkInside(path: string, real: string): void {
    if (!isInside(this.#root, real)) throw outside(path);
  }

  /** Returns the absolute path of what a client names, which links can still lead elsewhere. */
  #absolute(path: string): string {
    if (SCHEME.test(path)) {
      throw new AlmanacError('unsupported', `Not supported: path "${shown(path)}": only local files can be named`);
    }
    const parts = path.split('/');
    if (path === '' || Buffer.byteLength(path) > PATH_BYTES_MAX) {
      throw refused(path, `a path has 1 to ${PATH_BYTES_MAX} bytes`);
    }
    if (/[\x00-\x1f]/.test(path)) throw refused(path, 'it has control characters');
    if (GLOB.test(path)) throw refused(path, 'it has one of the characters * ? [ ]');
    if (parts.includes('..')) throw outside(path, "'..' path components are not allowed; ");
    if (parts.some((part) => part.startsWith('.') && part !== '.')) {
      throw refused(path, 'a part of it begins with a dot');
    }
    if (!isAbsolute(path)) return join(this.#root, path).replace(/\/+$/, '');
    const inner = normalize(path).replace(/\/+$/, '');
    const root = [this.#given, this.#root].find((folder) => isInside(folder, inner));
    if (root === undefined) throw outside(path);
    const absolute = join(this.#root, inner.slice(root.length));
    invariant(isInside(this.#root, absolute), 'path that leads out of its folder');
    return absolute;
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root === '/' ? '/' : `${root}/`);
}

function outside(path: string, reason = ''): AlmanacError {
  const text = `Local filesystem path '${shown(path)}' is outside the configured copy root or is unsafe: ${reason}use a path relative to the copy root`;
  return new AlmanacError('invalid_arguments', text);
}

function refused(path: string, reason: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `path '${shown(path)}' cannot be used: ${reason}`);
}

function shown(path: string): string {
  return path.slice(0, 200);
}
