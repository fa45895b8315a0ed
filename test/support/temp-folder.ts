import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty folder; removed with all in it after the test that made it, if `after` is the test's hook. */
export function tempFolder(after: (cleanUp: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'almanac-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
