import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import type { WriteResponse } from '#shared/contracts/gen/ingester';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { MemoryBudget } from '#shared/limits/memory-budget';

import type { Compactor } from './region/compactor.js';
import type { IngesterMetrics } from './metrics.js';
import type { FlowFences } from './region/flow-fences.js';
import type { Flusher } from './region/flusher.js';
import type { Regions } from './region/regions.js';
import type { Triggers } from './region/triggers.js';
import type { Wal } from './wal/wal.js';

/** Parts of a running ingester, as its methods use them. */
export interface Ingester {
  readonly nodeId: number;
  /** Distinguishes this run of the ingester from all others. */
  readonly incarnation: bigint;
  readonly clock: Clock;
  readonly metadata: MetadataService;
  readonly regions: Regions;
  readonly memory: MemoryBudget;
  readonly wal: Wal;
  readonly flusher: Flusher;
  readonly triggers: Triggers;
  readonly compactor: Compactor;
  readonly flowFences: FlowFences;
  readonly metrics: IngesterMetrics;
  /** Largest number of series of a table; 0: no limit. */
  readonly seriesMax: number;
  /** Response to a batch that was applied. */
  readonly acknowledgement: WriteResponse;
}

/** Returns a random number that no other run of an ingester has. */
export function newIncarnation(random: Random): bigint {
  const bytes = random.bytes(8);
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
}
