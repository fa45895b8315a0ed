import { measureLoad, runProgram, type IngestFigures } from '../ingest.js';
import { RunningServer } from '../server.js';
import { almanac, flushTable } from '../server-kinds.js';
import type { ProtocolLoad } from './bodies.js';

/** What is loaded by each protocol. */
export interface ProtocolsPlan {
  readonly records: number;
  readonly connections: number;
  readonly port: number;
  readonly seed: number;
  /** Names of loads; empty for all. */
  readonly protocols: readonly string[];
  readonly loads: Readonly<Record<string, ProtocolLoad>>;
}

/** Loads records by each protocol into a fresh server, and returns what load and flush cost. */
export async function measureProtocols(plan: ProtocolsPlan): Promise<IngestFigures[]> {
  const { records, connections, port, seed } = plan;
  const figures: IngestFigures[] = [];
  for (const [protocol, { batch, table, scale = 1 }] of Object.entries(plan.loads)) {
    if (plan.protocols.length > 0 && !plan.protocols.includes(protocol)) continue;
    const server = await RunningServer.start({ ...almanac, ...flushTable(table), name: protocol }, port);
    try {
      const options = { port, protocol, records: records * scale, connections, seed };
      const load = { batch, connections, valuesPerRow: 1 };
      figures.push(await measureLoad(server, load, () => runProgram('protocols/loader.js', options)));
    } finally {
      await server.stop();
    }
  }
  return figures;
}
