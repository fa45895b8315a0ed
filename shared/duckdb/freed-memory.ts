import type { Clock } from '#shared/clock/clock';
import { Loop } from '#shared/lifecycle/loop';
import type { Service } from '#shared/lifecycle/service';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';

import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';

/** Collaborators of `returnFreedMemory`. */
export interface FreedMemoryDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Memory limit of the process. */
  readonly limitBytes: number;
}

const LOOK_MS = 250;
/** Percent of the limit above which freed memory is returned. */
const NEAR_LIMIT_PERCENT = 88;
/**
 * Growth since the last return after which freed memory is returned, too: compilers of the JavaScript engine, flushes and
 * queries leave tens of MiB, and a return takes 10 ms.
 */
const GROWTH_BYTES = 24 * 1024 * 1024;
/** A return that frees less is not worth its time: the memory is in use. */
const WORTH_BYTES = 16 * 1024 * 1024;
/** Pause after a return that was not worth its time, which takes milliseconds, in which no memory is allocated. */
const REST_MS = 5000;
/** The same where the process has only grown. */
const GROWTH_REST_MS = 1000;
/** Any limit: setting it is what makes the engine return memory. */
const RETURN = "SET memory_limit = '16MiB'";

/**
 * Returns memory that is freed but kept by the allocator to the system when the process has grown, and while it is near
 * its memory limit. Node.js has no call for it; the SQL engine trims the allocator of the whole process when its limit is
 * set.
 */
export function returnFreedMemory({ clock, log, metrics, limitBytes }: FreedMemoryDeps): Service {
  let connection: DuckDBConnection | undefined;
  let instance: DuckDBInstance | undefined;
  let restUntilMs = 0;
  /** Memory after the last return, or less. */
  let leastBytes = process.memoryUsage.rss();
  const returned = metrics.counter({
    name: 'memory_returned_bytes_total',
    help: 'freed memory that was returned to the system because the process had grown or was near its memory limit, in bytes',
  });
  const loop = new Loop({ name: 'memory.return', intervalMs: LOOK_MS, clock, log, metrics }, async () => {
    const before = process.memoryUsage.rss();
    const isNearLimit = before * 100 >= limitBytes * NEAR_LIMIT_PERCENT;
    leastBytes = Math.min(leastBytes, before);
    if (clock.monotonicMs() < restUntilMs) return;
    if (!isNearLimit && before - leastBytes < GROWTH_BYTES) return;
    instance ??= await DuckDBInstance.create(':memory:', { threads: '1' });
    connection ??= await instance.connect();
    await connection.run(RETURN);
    leastBytes = process.memoryUsage.rss();
    const bytes = before - leastBytes;
    if (bytes > 0) returned.inc(bytes);
    if (bytes < WORTH_BYTES) restUntilMs = clock.monotonicMs() + (isNearLimit ? REST_MS : GROWTH_REST_MS);
  });
  loop.start();
  return {
    drain: () => Promise.resolve(),
    async stop() {
      await loop.stop();
      connection?.closeSync();
      instance?.closeSync();
      connection = instance = undefined;
    },
  };
}
