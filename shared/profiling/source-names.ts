import { SourceMap, type SourceMapPayload } from 'node:module';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { readTextFile } from '#shared/fs/text-file';

import type { Frame } from './stacks.js';
import type { V8CallFrame } from './v8-profile.js';

/** A code file with the map to its sources. */
interface MappedFile {
  readonly map: SourceMap;
  readonly path: string;
}

/**
 * Finds the sources of functions by the maps beside the program's own code.
 *
 * A profile may come from elsewhere: no other file is looked for, and a file of the bundle is found by its name alone.
 */
export class SourceNames {
  readonly #folder: string;
  readonly #root: string;
  readonly #files = new Map<string, MappedFile | undefined>();

  /**
   * @param folder of the program's code.
   * @param root of the sources: their paths are given from there, and only below it maps are looked for.
   */
  constructor(folder: string, root: string) {
    this.#folder = folder;
    this.#root = root;
  }

  /** Returns a function's name and place. */
  frameOf({ functionName, url, lineNumber, columnNumber }: V8CallFrame): Frame {
    const name = functionName === '' ? '(anonymous)' : functionName;
    if (url === '') return { name, file: '', line: 0 };
    const path = pathOf(url);
    const file = path === undefined ? undefined : this.#fileOf(path);
    const found = file?.map.findEntry(lineNumber, columnNumber);
    if (file === undefined || found === undefined || !('originalSource' in found)) {
      return { name, file: path === undefined ? url : this.#shortened(path), line: lineNumber + 1 };
    }
    const source = resolve(dirname(file.path), pathOf(found.originalSource) ?? found.originalSource);
    return { name, file: this.#shortened(source), line: found.originalLine + 1 };
  }

  #fileOf(path: string): MappedFile | undefined {
    if (!this.#files.has(path)) this.#files.set(path, this.#read(path));
    return this.#files.get(path);
  }

  #read(path: string): MappedFile | undefined {
    const isBelow = path.startsWith(this.#root + sep) && resolve(path) === path;
    const candidates = [...(isBelow ? [path] : []), join(this.#folder, basename(path))];
    for (const candidate of candidates) {
      const text = readTextFile(`${candidate}.map`);
      if (text !== undefined) return { map: new SourceMap(JSON.parse(text) as SourceMapPayload), path: candidate };
    }
    return undefined;
  }

  #shortened(path: string): string {
    return path.startsWith(this.#root + sep) ? relative(this.#root, path) : path;
  }
}

/** Returns the path of a file's URL or path; undefined for other URLs, like `node:fs`. */
function pathOf(url: string): string | undefined {
  try {
    if (url.startsWith('file:')) return fileURLToPath(url);
  } catch {
    return undefined;
  }
  return url.startsWith('/') ? url : undefined;
}
