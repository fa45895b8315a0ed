import Database from 'better-sqlite3';

import type { FileSystem } from '#shared/fs/file-system';

import { openStore, storeError, type CatalogConnection } from './open.js';

/** A region in the catalog. */
export interface CatalogRegion {
  readonly regionId: number;
  readonly database: string;
  readonly table: string;
  readonly epoch: number;
  /** Sequence up to which its rows are in segments. */
  readonly watermark: bigint;
}

/** A node that owns regions. */
export interface CatalogOwner {
  readonly nodeId: number;
  readonly role: string;
  readonly slot: string;
}

/** A segment or series file in the manifest of a region. */
export interface CatalogEntry {
  /** Path in the store. */
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

interface RegionRow {
  region_id: bigint;
  database: string;
  name: string;
  epoch: bigint;
  watermark: bigint;
}

/** All pages at once: a copy in several steps starts over whenever the server writes in between. */
const PAGES_MAX = 0x7fffffff;

/**
 * Closes all grants as a seal without a next owner does, so that the first ready node gets every region under a further
 * epoch, and removes the nodes and the location of the instance.
 *
 * Sequences start again above all that were assigned under the old epochs, whose logs are ignored: rows that the
 * original accepts after the backup have other sequences than those of the restored instance.
 *
 * Flows read their sources again, because rows that they have processed may be missing from the backup.
 */
const RELEASE = `
  DELETE FROM garbage;
  DELETE FROM nodes;
  UPDATE regions SET node_id = 0, epoch = epoch + 1, watermark = (epoch + 1) << 40, version = version + 1,
    ids_since_epoch = epoch + 1;
  UPDATE flows SET node_id = 0, epoch = epoch + 1, needs_rebuild = 1 - is_streaming;
  DELETE FROM flow_changes;
  UPDATE flow_positions SET sequence = 0 WHERE flow_id IN (SELECT flow_id FROM flows WHERE is_streaming = 0);
  UPDATE facts SET value = value + 1 WHERE name = 'catalog_version';`;

/** Removes the data folder: the first process that starts in one names it. */
const RENEW = `
  DELETE FROM identity WHERE name = 'data_folder';
  UPDATE identity SET value = lower(hex(randomblob(16))) WHERE name = 'cluster';`;

/** A catalog as a file, for backups: either one that a server uses, or a copy that only this process uses. */
export class CatalogFile {
  readonly #connection: CatalogConnection;
  readonly #path: string;

  private constructor(connection: CatalogConnection, path: string) {
    this.#connection = connection;
    this.#path = path;
  }

  /**
   * Opens a catalog that a server may be using, for reading.
   * @throws `storage_unavailable` if it cannot be read.
   */
  static read(path: string): CatalogFile {
    try {
      const connection = new Database(path, { readonly: true, fileMustExist: true });
      connection.defaultSafeIntegers(true);
      return new CatalogFile(connection, path);
    } catch (error) {
      throw storeError(error, `cannot open "${path}"`);
    }
  }

  /**
   * Opens a catalog that no other process uses, and migrates it to the newest format.
   *
   * @throws `illegal_state` if a newer release wrote it; `storage_unavailable` if it cannot be read.
   */
  static async own(path: string, fs: FileSystem): Promise<CatalogFile> {
    return new CatalogFile(await openStore(path, fs), path);
  }

  /** Writes a consistent copy of the catalog to a new file with SQLite's backup, while a server may keep using it. */
  async copyTo(path: string): Promise<void> {
    try {
      await this.#connection.backup(path, { progress: () => PAGES_MAX });
    } catch (error) {
      throw storeError(error, `cannot copy "${this.#path}" to "${path}"`);
    }
  }

  get clusterId(): string {
    return this.#all<{ value: string }>("SELECT value FROM identity WHERE name = 'cluster'").at(0)?.value ?? '';
  }

  get version(): bigint {
    return this.#all<{ value: bigint }>("SELECT value FROM facts WHERE name = 'catalog_version'").at(0)?.value ?? 0n;
  }

  regions(): CatalogRegion[] {
    const rows = this.#all<RegionRow>(
      `SELECT r.region_id, d.name AS database, t.name, r.epoch, r.watermark
       FROM regions r JOIN tables t USING (table_id) JOIN databases d USING (database_id) ORDER BY r.region_id`,
    );
    return rows.map((row) => ({
      regionId: Number(row.region_id),
      database: row.database,
      table: row.name,
      epoch: Number(row.epoch),
      watermark: row.watermark,
    }));
  }

  owners(): CatalogOwner[] {
    const rows = this.#all<{ node_id: bigint; role: string; slot: string | null }>(
      'SELECT node_id, role, slot FROM nodes WHERE node_id IN (SELECT node_id FROM regions) ORDER BY node_id',
    );
    return rows.map((row) => ({ nodeId: Number(row.node_id), role: row.role, slot: row.slot ?? '' }));
  }

  /** Returns every file in a manifest. */
  entries(): CatalogEntry[] {
    const rows = this.#all<{ path: string; bytes: bigint; crc32c: bigint }>(
      `SELECT path, bytes, crc32c FROM segments UNION ALL SELECT path, bytes, crc32c FROM series_files ORDER BY path`,
    );
    return rows.map((row) => ({ path: row.path, bytes: Number(row.bytes), crc32c: Number(row.crc32c) }));
  }

  /** Returns the ids of applied batches from the last seal of each region that has any. */
  appliedIds(): Map<number, Uint8Array> {
    const rows = this.#all<{ region_id: bigint; ids: Uint8Array }>('SELECT region_id, ids FROM applied_ids');
    return new Map(rows.map((row) => [Number(row.region_id), row.ids]));
  }

  /**
   * Prepares the copy so that any node can start with it: no open grants, no nodes, no garbage.
   *
   * @param appliedIds of the batches whose rows are in segments, by region.
   */
  release(appliedIds: ReadonlyMap<number, Uint8Array>): void {
    this.#change((connection) => {
      connection.exec(RELEASE);
      const keep = connection.prepare<[number, Uint8Array]>(
        'INSERT INTO applied_ids (region_id, ids) VALUES (?, ?) ON CONFLICT DO UPDATE SET ids = excluded.ids',
      );
      for (const [regionId, ids] of appliedIds) keep.run(regionId, ids);
    });
  }

  /** Makes it the catalog of a new cluster, which has no data folder yet. */
  renewIdentity(): void {
    this.#change((connection) => connection.exec(RENEW));
  }

  /** Closes the file; an owned one is a single file afterwards, without a journal. May be called twice. */
  close(): void {
    if (!this.#connection.open) return;
    try {
      if (!this.#connection.readonly) this.#connection.pragma('journal_mode = DELETE');
    } catch (error) {
      throw storeError(error, `cannot write "${this.#path}"`);
    } finally {
      this.#connection.close();
    }
  }

  #all<Row>(sql: string): Row[] {
    try {
      return this.#connection.prepare<[], Row>(sql).all();
    } catch (error) {
      throw storeError(error, `cannot read "${this.#path}"`);
    }
  }

  #change(work: (connection: CatalogConnection) => void): void {
    try {
      this.#connection.transaction(() => work(this.#connection)).immediate();
    } catch (error) {
      throw storeError(error, `cannot write "${this.#path}"`);
    }
  }
}
