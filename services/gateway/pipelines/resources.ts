import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';

import type { LookupTables } from './lookup-tables.js';
import { PipelineState } from './state.js';

/** What pipelines use of the process that they run in. */
export interface PipelineResources {
  readonly clock: Clock;
  readonly random: Random;
  /** Keys of the configuration, by the name that pipelines use. */
  readonly keys: ReadonlyMap<string, string>;
  /** What processors remember between requests. */
  readonly state: PipelineState;
  readonly lookups: LookupTables;
  /** Returns how to count an item that a processor of a pipeline drops. */
  readonly dropCounter: (pipeline: string, processor: string) => () => void;
}

/** Returns the resources of dry runs: what they count and remember is dropped. */
export function plainResources(resources: PipelineResources): PipelineResources {
  return { ...resources, state: new PipelineState(), dropCounter: () => () => undefined };
}
