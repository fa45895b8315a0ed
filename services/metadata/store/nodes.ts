import type { NodeInfo } from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

/** State that a node reports, or `gone` after its lease expired. */
export type NodeLifecycle = 'starting' | 'ready' | 'draining' | 'left' | 'gone';

/** A node, and since when it is in its state. */
export interface NodeRecord extends NodeInfo {
  readonly state: NodeLifecycle;
  readonly stateMs: number;
  /** As registered; empty if it has none or did not report it. */
  readonly dataFolderId: string;
}

interface Row {
  node_id: bigint;
  role: string;
  slot: string | null;
  addr: string;
  version: string;
  registered_ms: bigint;
  state: string;
  state_ms: bigint;
  region_count: bigint;
  data_folder: string;
}

interface Registration {
  readonly role: string;
  /** Identity that keeps its node id; empty: a new id each time. */
  readonly slot: string;
  readonly addr: string;
  readonly version: string;
  readonly dataFolderId: string;
  readonly state: NodeLifecycle;
  readonly nowMs: number;
}

const SELECT_NODE = `
  SELECT n.*, (SELECT count(*) FROM regions r WHERE r.node_id = n.node_id) AS region_count FROM nodes n`;

/** SQL of the `nodes` table. */
export class NodeStore {
  readonly #upsert;
  readonly #byId;
  readonly #all;
  readonly #setState;
  readonly #delete;
  readonly #ready;

  constructor(connection: CatalogConnection) {
    this.#upsert = connection.prepare<[Omit<Registration, 'slot'> & { slot: string | null }], { node_id: bigint }>(
      `INSERT INTO nodes (role, slot, addr, version, registered_ms, state, state_ms, data_folder)
       VALUES (@role, @slot, @addr, @version, @nowMs, @state, @nowMs, @dataFolderId)
       ON CONFLICT (role, slot) DO UPDATE SET addr = excluded.addr, version = excluded.version,
         registered_ms = excluded.registered_ms, state = excluded.state, state_ms = excluded.state_ms,
         data_folder = excluded.data_folder
       RETURNING node_id`,
    );
    this.#byId = connection.prepare<[number], Row>(`${SELECT_NODE} WHERE n.node_id = ?`);
    this.#all = connection.prepare<[], Row>(`${SELECT_NODE} ORDER BY n.node_id`);
    this.#setState = connection.prepare<[NodeLifecycle, number, number]>(
      'UPDATE nodes SET state = ?, state_ms = ? WHERE node_id = ?',
    );
    this.#delete = connection.prepare<[number]>('DELETE FROM nodes WHERE node_id = ?');
    this.#ready = connection.prepare<[string], { node_id: bigint }>(
      `SELECT node_id FROM nodes WHERE role = ? AND state = 'ready' AND slot IS NOT NULL ORDER BY node_id`,
    );
  }

  /** @returns the node's id. */
  register(node: Registration): number {
    const { role, slot, addr, version, dataFolderId, state, nowMs } = node;
    const row = this.#upsert.get({
      role,
      slot: slot === '' ? null : slot,
      addr,
      version,
      dataFolderId,
      state,
      nowMs,
    });
    return Number(row?.node_id ?? 0n);
  }

  find(nodeId: number): NodeRecord | undefined {
    const row = this.#byId.get(nodeId);
    return row === undefined ? undefined : fromRow(row);
  }

  list(): NodeRecord[] {
    return this.#all.all().map(fromRow);
  }

  setState(nodeId: number, state: NodeLifecycle, nowMs: number): void {
    this.#setState.run(state, nowMs, nodeId);
  }

  delete(nodeId: number): void {
    this.#delete.run(nodeId);
  }

  /** Returns the ingesters that can take regions now. */
  readyIngesterIds(): number[] {
    return this.#ready.all('ingester').map((row) => Number(row.node_id));
  }

  /**
   * Returns the nodes that can own regions now: ready ingesters, or else a standalone node, which regions cannot move
   * to.
   */
  readyOwnerIds(): number[] {
    const ingesters = this.readyIngesterIds();
    return ingesters.length > 0 ? ingesters : this.#ready.all('standalone').map((row) => Number(row.node_id));
  }
}

/** Returns a node as the contract describes it. */
export function nodeInfo(node: NodeRecord): NodeInfo {
  const { nodeId, role, addr, version, registeredMs, state, slot, regionCount } = node;
  return { nodeId, role, addr, version, registeredMs, state, slot, regionCount };
}

function fromRow(row: Row): NodeRecord {
  return {
    nodeId: Number(row.node_id),
    role: row.role,
    addr: row.addr,
    version: row.version,
    registeredMs: Number(row.registered_ms),
    state: row.state as NodeLifecycle,
    slot: row.slot ?? '',
    regionCount: Number(row.region_count),
    stateMs: Number(row.state_ms),
    dataFolderId: row.data_folder,
  };
}
