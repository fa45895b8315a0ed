import type { Clock } from '#shared/clock/clock';

import type { QueryColumns } from '../columns/query-columns.js';
import type { MergedBlocks } from './late/merged-blocks.js';
import type { QueryMemory } from './memory.js';
import type { Scans } from './scan.js';

/** What kernels use for one query. */
export interface KernelDeps {
  readonly columns: QueryColumns;
  readonly clock: Clock;
  readonly memory: QueryMemory;
  readonly blocks: MergedBlocks;
  /** Threads for large queries; undefined: the engine runs these. */
  readonly threads?: Scans | undefined;
}
