import type { CatalogConnection } from './open.js';

/** Seals kept per region; older ones are not repeated any more. */
const SEALS_MAX = 16;

const NO_IDS = new Uint8Array(0);

/** SQL of `seals` and `applied_ids`: what remains of a region's earlier epochs. */
export class SealStore {
  readonly #find;
  readonly #insert;
  readonly #forget;
  readonly #ids;
  readonly #setIds;
  readonly #clearIds;

  constructor(connection: CatalogConnection) {
    this.#find = connection.prepare<[number, number, number], { epoch: bigint }>(
      'SELECT epoch FROM seals WHERE region_id = ? AND epoch = ? AND node_id = ?',
    );
    this.#insert = connection.prepare<[number, number, number]>(
      'INSERT INTO seals (region_id, epoch, node_id) VALUES (?, ?, ?)',
    );
    this.#forget = connection.prepare<[number, number]>('DELETE FROM seals WHERE region_id = ? AND epoch <= ?');
    this.#ids = connection.prepare<[number], { ids: Uint8Array }>('SELECT ids FROM applied_ids WHERE region_id = ?');
    this.#setIds = connection.prepare<[number, Uint8Array]>(
      'INSERT INTO applied_ids (region_id, ids) VALUES (?, ?) ON CONFLICT DO UPDATE SET ids = excluded.ids',
    );
    this.#clearIds = connection.prepare<[number]>('DELETE FROM applied_ids WHERE region_id = ?');
  }

  /** Returns whether this node sealed this epoch of the region. */
  has(regionId: number, epoch: number, nodeId: number): boolean {
    return this.#find.get(regionId, epoch, nodeId) !== undefined;
  }

  insert(regionId: number, epoch: number, nodeId: number): void {
    this.#insert.run(regionId, epoch, nodeId);
    this.#forget.run(regionId, epoch - SEALS_MAX);
  }

  /** Returns the ids of applied batches; empty if there are none. */
  appliedIds(regionId: number): Uint8Array {
    return this.#ids.get(regionId)?.ids ?? NO_IDS;
  }

  setAppliedIds(regionId: number, ids: Uint8Array): void {
    if (ids.byteLength === 0) this.#clearIds.run(regionId);
    else this.#setIds.run(regionId, ids);
  }
}
