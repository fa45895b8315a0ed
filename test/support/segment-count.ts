import { join } from 'node:path';

import Database from 'better-sqlite3';

/** Segments that the manifest of a data folder names. */
export function segmentCount(folder: string): number {
  const catalog = new Database(join(folder, 'metadata/almanac.db'), { readonly: true });
  const { count } = catalog.prepare<[], { count: number }>('SELECT count(*) AS count FROM segments').get()!;
  catalog.close();
  return count;
}
