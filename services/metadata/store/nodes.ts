import type { NodeInfo } from '#shared/contracts/gen/metadata';
import type { Connection } from './open.js';

interface Row {
  node_id: bigint;
  role: string;
  addr: string;
  version: string;
  registered_ms: bigint;
}

/** SQL of the `nodes` table. */
export class NodeStore {
  readonly #upsert;
  readonly #all;
  readonly #owners;

  constructor(connection: Connection) {
    this.#upsert = connection.prepare<[string, string | null, string, string, number], { node_id: bigint }>(
      `INSERT INTO nodes (role, slot, addr, version, registered_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (role, slot) DO UPDATE SET addr = excluded.addr, version = excluded.version,
         registered_ms = excluded.registered_ms
       RETURNING node_id`,
    );
    this.#all = connection.prepare<[], Row>('SELECT * FROM nodes ORDER BY node_id');
    this.#owners = connection.prepare<[], { node_id: bigint }>(
      'SELECT node_id FROM nodes WHERE slot IS NOT NULL ORDER BY node_id',
    );
  }

  /** @param slot identity that keeps its node id; empty: a new id each time. */
  register(node: { role: string; slot: string; addr: string; version: string; nowMs: number }): number {
    const slot = node.slot === '' ? null : node.slot;
    const row = this.#upsert.get(node.role, slot, node.addr, node.version, node.nowMs);
    return Number(row?.node_id ?? 0n);
  }

  list(): NodeInfo[] {
    return this.#all.all().map((row) => ({
      nodeId: Number(row.node_id),
      role: row.role,
      addr: row.addr,
      version: row.version,
      registeredMs: Number(row.registered_ms),
    }));
  }

  /** Nodes that can own regions. */
  ownerIds(): number[] {
    return this.#owners.all().map((row) => Number(row.node_id));
  }
}
