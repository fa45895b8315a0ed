import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { startMetadata, type RunningMetadata } from '#services/metadata/index';

/** A folder of its own for one test, and how it goes away. */
export interface TestFolder {
  readonly path: string;
  remove(): void;
}

export function testFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'almanac-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** The real metadata service over a file in `folder`, with one node that can own regions. */
export async function metadataIn(folder: string, regions = 1): Promise<RunningMetadata> {
  return startMetadata({ folder, fs: nodeFileSystem, clock: systemClock, defaults: { regions } });
}
