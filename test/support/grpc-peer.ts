import { systemClock } from '#shared/clock/clock';
import { serve } from '#shared/grpc/serve';

import { partialIngester, scanChunk } from './partial-ingester.js';
import { KeptLog } from './quiet-log.js';

/** A process that serves until it is killed: `write` answers, `flushTable` never does, `scan` stops after one part. */
const never = new Promise<never>(() => undefined);
const ingester = partialIngester({
  write: () => Promise.resolve({ unknownSeries: [], incarnation: BigInt(process.pid) }),
  flushTable: () => never,
  truncateTable: () => Promise.resolve({}),
  async *scan() {
    yield scanChunk(0);
    await never;
  },
});
const server = await serve({
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  services: { Ingester: ingester },
  clock: systemClock,
  log: new KeptLog(),
});
process.send?.(server.port);
process.on('disconnect', () => process.exit(0));
