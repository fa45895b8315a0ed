import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Everything below a folder, by its path: the checksum of a file, or `no file`. */
export function folderSums(folder: string): Record<string, string> {
  const sums: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(folder, name);
    const isFile = lstatSync(path).isFile();
    sums[name] = isFile ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'no file';
  }
  return sums;
}
