import { dirname, sep } from 'node:path';

import type { FileSystem } from '#shared/fs/file-system';
import { errorCode } from '#shared/fs/node-file-system';
import { realPathOf } from '#shared/fs/real-path';

import { CommandFailure, EXIT } from '../command.js';

/** Checks that neither folder contains the other, with links followed; they need not exist. @throws `CommandFailure`. */
export async function checkApart(source: string, target: string): Promise<void> {
  const [from, to] = [await realPath(source), await realPath(target)];
  if (from !== to && !isInside(from, to) && !isInside(to, from)) return;
  throw new CommandFailure(
    EXIT.usage,
    `error: "${target}" must be separate from "${source}", neither in it nor around it`,
  );
}

/** Checks that a folder contains nothing but these names; it need not exist. @throws `CommandFailure`. */
export async function checkEmpty(fs: FileSystem, folder: string, allowed: readonly string[]): Promise<void> {
  const stranger = (await namesIn(fs, folder)).find((name) => !allowed.includes(name));
  if (stranger === undefined) return;
  throw new CommandFailure(EXIT.usage, `error: "${folder}" is not empty: it has "${stranger}"`);
}

/** Creates a folder and its parents; their names are durable when this resolves. */
export async function makeDurably(fs: FileSystem, folder: string): Promise<void> {
  const missing: string[] = [];
  for (let at = folder; (await fs.size(at)) === undefined; at = dirname(at)) missing.push(at);
  await fs.makeFolder(folder);
  for (const made of missing.reverse()) await fs.syncFolder(dirname(made));
}

async function namesIn(fs: FileSystem, folder: string): Promise<string[]> {
  try {
    return await fs.list(folder);
  } catch (error) {
    if (errorCode(error) !== 'ENOTDIR') throw error;
    throw new CommandFailure(EXIT.usage, `error: "${folder}" is not a folder`, { cause: error });
  }
}

async function realPath(path: string): Promise<string> {
  try {
    return await realPathOf(path);
  } catch (error) {
    const why = errorCode(error) === 'ELOOP' ? 'its symbolic links form a loop' : (error as Error).message;
    throw new CommandFailure(EXIT.usage, `error: "${path}" cannot be used: ${why}`, { cause: error });
  }
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
