import type { CatalogConnection } from './open.js';

/** What metadata stores about a region besides its files. */
export interface RegionRecord {
  readonly regionId: number;
  readonly tableId: number;
  readonly epoch: number;
  readonly nodeId: number;
  readonly watermark: bigint;
  readonly truncatedSequence: bigint;
  readonly version: bigint;
}

interface Row {
  region_id: bigint;
  table_id: bigint;
  epoch: bigint;
  node_id: bigint;
  watermark: bigint;
  truncated_sequence: bigint;
  version: bigint;
}

/** SQL of the `regions` table: grants and watermarks. */
export class RegionStore {
  readonly #byId;
  readonly #ofNode;
  readonly #insert;
  readonly #advance;
  readonly #truncate;
  readonly #changed;
  readonly #load;
  readonly #loads;
  readonly #tablesOf;
  readonly #free;
  readonly #regrant;
  readonly #forgetIds;

  constructor(connection: CatalogConnection) {
    this.#byId = connection.prepare<[number], Row>('SELECT * FROM regions WHERE region_id = ?');
    this.#ofNode = connection.prepare<[number], Row>('SELECT * FROM regions WHERE node_id = ? ORDER BY region_id');
    this.#insert = connection.prepare<[number, number, number, number, bigint]>(
      `INSERT INTO regions (table_id, position, epoch, node_id, watermark, truncated_sequence, version)
       VALUES (?, ?, ?, ?, ?, 0, 1)`,
    );
    this.#advance = connection.prepare<[bigint, number]>(
      'UPDATE regions SET watermark = ?, version = version + 1 WHERE region_id = ?',
    );
    this.#truncate = connection.prepare<[bigint, number]>(
      'UPDATE regions SET truncated_sequence = max(truncated_sequence, ?), version = version + 1 WHERE region_id = ?',
    );
    this.#changed = connection.prepare<[number]>('UPDATE regions SET version = version + 1 WHERE region_id = ?');
    this.#load = connection.prepare<[number], { regions: bigint }>(
      'SELECT count(*) AS regions FROM regions WHERE node_id = ?',
    );
    this.#loads = connection.prepare<[], { node_id: bigint; regions: bigint }>(
      'SELECT node_id, count(*) AS regions FROM regions GROUP BY node_id',
    );
    this.#tablesOf = connection.prepare<[number], { table_id: bigint; regions: bigint }>(
      'SELECT table_id, count(*) AS regions FROM regions WHERE node_id = ? GROUP BY table_id',
    );
    this.#free = connection.prepare<[], Row>('SELECT * FROM regions WHERE node_id = 0 ORDER BY region_id');
    this.#regrant = connection.prepare<[number, number]>(
      `UPDATE regions SET node_id = ?, epoch = epoch + 1, watermark = (epoch + 1) << 40, version = version + 1
       WHERE region_id = ?`,
    );
    this.#forgetIds = connection.prepare<[number]>('UPDATE regions SET ids_since_epoch = epoch WHERE region_id = ?');
  }

  find(regionId: number): RegionRecord | undefined {
    const row = this.#byId.get(regionId);
    return row === undefined ? undefined : fromRow(row);
  }

  ofNode(nodeId: number): RegionRecord[] {
    return this.#ofNode.all(nodeId).map(fromRow);
  }

  /** @param nodeId 0: the region has no owner yet. */
  insert(tableId: number, position: number, nodeId: number): void {
    const epoch = nodeId === 0 ? 0 : 1;
    // Sequences start at `epoch << 40`, and so does the watermark.
    this.#insert.run(tableId, position, epoch, nodeId, BigInt(epoch) << 40n);
  }

  advance(regionId: number, watermark: bigint): void {
    this.#advance.run(watermark, regionId);
  }

  truncate(regionId: number, sequence: bigint): void {
    this.#truncate.run(sequence, regionId);
  }

  /** Returns the number of regions that a node owns. */
  load(nodeId: number): number {
    return Number(this.#load.get(nodeId)?.regions ?? 0n);
  }

  /** Records that other segments have the region's rows. */
  changed(regionId: number): void {
    this.#changed.run(regionId);
  }

  /** Returns the number of regions of each node that owns any. */
  loads(): Map<number, number> {
    return new Map(this.#loads.all().map((row) => [Number(row.node_id), Number(row.regions)]));
  }

  /** Returns the number of regions of each table that a node owns, by table id. */
  tablesOf(nodeId: number): Map<number, number> {
    return new Map(this.#tablesOf.all(nodeId).map((row) => [Number(row.table_id), Number(row.regions)]));
  }

  /** Returns the regions without an owner. */
  free(): RegionRecord[] {
    return this.#free.all().map(fromRow);
  }

  /** Opens the region's next epoch for a node; 0: without an owner. */
  regrant(regionId: number, nodeId: number): void {
    this.#regrant.run(nodeId, regionId);
  }

  /** Records that the batch ids of all epochs before the present one are lost. */
  forgetIds(regionId: number): void {
    this.#forgetIds.run(regionId);
  }
}

function fromRow(row: Row): RegionRecord {
  return {
    regionId: Number(row.region_id),
    tableId: Number(row.table_id),
    epoch: Number(row.epoch),
    nodeId: Number(row.node_id),
    watermark: row.watermark,
    truncatedSequence: row.truncated_sequence,
    version: row.version,
  };
}
