import { availableParallelism, hostname, totalmem } from 'node:os';

import type { Machine } from './key.js';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the environment of this process. No other module reads it. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Returns memory, cores and name of the machine, or of the container that this process runs in. */
export function thisMachine(): Machine & { readonly coreCount: number; readonly hostName: string } {
  const memoryBytes = totalmem();
  // Outside a container the kernel returns 0 or a number near 2^64.
  const limit = process.constrainedMemory();
  return {
    memoryBytes,
    containerMemoryBytes: limit > 0 && limit < memoryBytes ? limit : undefined,
    coreCount: availableParallelism(),
    hostName: hostname(),
  };
}
