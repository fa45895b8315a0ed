import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemRandom } from '#shared/clock/random';
import { systemClock, type Clock } from '#shared/clock/clock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { Metrics } from '#shared/telemetry/metrics';
import { startMetadata, type RunningMetadata } from '#services/metadata/index';
import { KeptLog } from './quiet-log.js';

/** A folder for one test, and how it is removed. */
export interface TestFolder {
  readonly path: string;
  remove(): void;
}

/** Creates a folder for one test. */
export function testFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'almanac-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Starts the real metadata service over a file in `folder`. */
export async function metadataIn(folder: string, regions = 1, clock: Clock = systemClock): Promise<RunningMetadata> {
  const metrics = new Metrics({ unprefixedProcess: false });
  const log = new KeptLog();
  return startMetadata({
    folder,
    fs: nodeFileSystem,
    clock,
    random: systemRandom,
    log,
    metrics,
    defaults: { regions, tablesMax: 100_000, columnsMax: 4096 },
  });
}
