import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';

/** What pipelines use of the process that they run in. */
export interface PipelineResources {
  readonly clock: Clock;
  readonly random: Random;
}

/** Returns the resources of dry runs: what they count and remember is dropped. */
export function plainResources(resources: PipelineResources): PipelineResources {
  return { ...resources };
}
