import type { Clock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { withTypes } from '#shared/schema/former-types';
import { hasOps, withOps } from '#shared/schema/segment-columns';
import { tagsOf } from '#shared/schema/table-schema';

import type { SharedIndexes } from '../series/shared-indexes.js';
import { FreshPart, type FreshPartDeps } from './fresh-part.js';
import type { PartView, RegionView } from './fresh-rows.js';
import type { RowsLayout } from './rows-layout.js';
import type { SegmentFiles } from './segment-files.js';
import { SeriesTable } from './series-table.js';

/** A region's rows and series as tables of the query instance. */
export type EngineView = RegionView<FreshPart, SeriesTable>;
/** A part of a region's unflushed rows as a table of the query instance. */
export type EnginePartView = PartView<FreshPart>;

/** Collaborators of an `EngineRows`. */
export interface EngineRowsDeps extends FreshPartDeps {
  /** Creates and drops tables, and fills them from files. */
  readonly connection: DuckDBConnection;
  /** Appends rows. Appends are synchronous, so this connection must not wait for work on the other one. */
  readonly appending: DuckDBConnection;
  readonly files: SegmentFiles;
  readonly clock: Clock;
  readonly indexes: SharedIndexes;
}

/** Keeps unflushed rows and series as tables of the query instance. */
export class EngineRows implements RowsLayout<FreshPart, SeriesTable> {
  readonly #deps: EngineRowsDeps;
  /** Drops in progress. */
  readonly #drops = new Set<Promise<void>>();
  #nextName = 1;

  constructor(deps: EngineRowsDeps) {
    this.#deps = deps;
  }

  createPart(regionId: number, table: Table, first: ScanBatch, batch: RowBatch): Promise<FreshPart> {
    const stored = hasOps(batch.columns) ? withOps(table) : table;
    const types = new Map(batch.columns.map(({ columnId, type }) => [columnId, type]));
    const part = new FreshPart(this.#name('fresh', regionId), withTypes(stored, types), first, this.#deps);
    return Promise.resolve(part);
  }

  async createSeries(regionId: number, table: Table): Promise<SeriesTable | undefined> {
    if (tagsOf(table).length === 0) return undefined;
    const index = this.#deps.indexes.open(regionId, table);
    return SeriesTable.create(this.#deps, this.#name('series', regionId), table, index);
  }

  async drop(rows: FreshPart | SeriesTable): Promise<void> {
    const dropped = this.#drop(rows);
    this.#drops.add(dropped);
    await dropped;
    this.#drops.delete(dropped);
  }

  /** Resolves when all drops so far have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#drops);
  }

  async #drop(rows: FreshPart | SeriesTable): Promise<void> {
    if (rows instanceof FreshPart) return rows.drop();
    rows.close();
    // DROP fails only if the instance is closed or broken, and then there is nothing to release.
    await this.#deps.connection.run(`DROP TABLE IF EXISTS ${rows.stored}`).catch(() => undefined);
  }

  #name(kind: string, regionId: number): string {
    return `${kind}_${regionId}_${this.#nextName++}`;
  }
}
