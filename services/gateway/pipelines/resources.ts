import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';

/** What pipelines use of the process that they run in. */
export interface PipelineResources {
  readonly clock: Clock;
  readonly random: Random;
  /** Keys of the configuration, by the name that pipelines use. */
  readonly keys: ReadonlyMap<string, string>;
}

/** Returns the resources of dry runs: what they count and remember is dropped. */
export function plainResources(resources: PipelineResources): PipelineResources {
  return { ...resources };
}
