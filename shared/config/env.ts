import { availableParallelism, hostname, totalmem } from 'node:os';

import type { Machine } from './key.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. The only place that reads it. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Memory, cores and name of the machine, or of the container around this process. */
export function thisMachine(): Machine & { readonly coreCount: number; readonly hostName: string } {
  const memoryBytes = totalmem();
  // Without a container the kernel answers 0 or a number near 2^64.
  const limit = process.constrainedMemory();
  return {
    memoryBytes,
    containerMemoryBytes: limit > 0 && limit < memoryBytes ? limit : undefined,
    coreCount: availableParallelism(),
    hostName: hostname(),
  };
}
