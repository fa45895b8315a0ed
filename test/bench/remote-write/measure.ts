import { measureLoad, runProgram, type IngestFigures } from '../ingest.js';
import type { RunningServer } from '../server.js';

export interface RemoteWritePlan {
  /** Node exporters. */
  readonly hosts: number;
  readonly hours: number;
  /** Samples a request. */
  readonly batch: number;
  readonly connections: number;
  readonly seed: number;
}

/** Sends samples of node exporters to a server, flushes, and returns what both cost. */
export function measureRemoteWrite(server: RunningServer, plan: RemoteWritePlan): Promise<IngestFigures> {
  const { hosts, hours, batch, connections, seed } = plan;
  const options = { port: server.port, path: server.kind.writePath, hosts, hours, batch, connections, seed };
  return measureLoad(server, { batch, connections, valuesPerRow: 1 }, () =>
    runProgram('remote-write/loader.js', options),
  );
}
