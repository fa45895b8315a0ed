import { RegionSnapshots } from '#services/querier/snapshot/snapshot';
import { latestSchema } from '#services/querier/samples/latest-schema';
import { labelOfTagColumn } from '#services/querier/samples/metric-table';
import { SharedIndexes } from '#services/querier/series/shared-indexes';
import { withDeadline } from '#services/querier/run/deadline';
import { confirmDropped } from '#services/querier/sql/statements/tables/confirm-dropped';
import { deleteInRounds, type DeleteRound } from '#services/querier/sql/statements/rows/delete-rounds';
import { atAllOwners } from '#services/querier/sql/run/owners';
import type { StatementDeps } from '#services/querier/sql/statement';
import { checkCall, type Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import { ManifestCache } from '#shared/discovery/manifest-cache';
import type { DuckDBInstance } from '#shared/duckdb/engine';
import { invariant } from '#shared/errors/invariant';
import { DataFolder } from '#shared/node/data-folder';
import { LocalStore } from '#shared/segments/local-store';
import type { CellValue } from '#shared/write/cell-value';
import { RowSink } from '#shared/write/row-sink';
import { RegionSender } from '#shared/write/send';

import { TIME_COLUMN, type ReadRow } from '../checkers/rows.js';
import { engineOf } from '../world/engine.js';
import type { Life } from '../world/life.js';
import { joinWorld, newLife, startAgainUnless, type Joined, type World } from './world.js';

interface Running {
  readonly joined: Joined;
  readonly snapshots: RegionSnapshots;
  readonly instance: DuckDBInstance;
  readonly sink: RowSink;
}

/** Rows of a read, and the table that they were read from. */
export interface ReadAnswer {
  readonly tableId: number;
  readonly fields: readonly string[];
  readonly rows: readonly ReadRow[];
}

const STATEMENT_MS_MAX = 60_000;

/** The reading side of a querier process, and statements that are sent to all owners. */
export class QuerierNode {
  readonly name: string;
  readonly #world: World;
  life: Life;
  #running: Running | undefined;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
    this.life = newLife(name, world);
    this.life.kill();
  }

  get isReady(): boolean {
    return !this.life.isDead && this.#running !== undefined;
  }

  start(): void {
    const life = newLife(this.name, this.#world);
    this.life = life;
    this.#running = undefined;
    this.#world.scheduler.note(`${this.name} starts`);
    startAgainUnless(this.#start(life), this, this.#world.scheduler);
  }

  kill(): void {
    this.#world.scheduler.note(`${this.name} is killed`);
    this.life.kill();
  }

  /**
   * Returns all rows of a table, with all its fields.
   * @param fields that the result must have: an older schema is refreshed.
   */
  read(name: string, fields: readonly string[], call: Call): Promise<ReadAnswer> {
    return this.life.during(this.#read(name, fields, call));
  }

  /**
   * Deletes the rows that match a condition.
   * @throws `region_busy` if others keep writing them.
   */
  delete(name: string, condition: string, call: Call): Promise<void> {
    return this.life.during(this.#delete(name, condition, call));
  }

  /**
   * Drops a field.
   * @throws `illegal_state` if others change the table meanwhile.
   */
  dropField(name: string, field: string, call: Call): Promise<void> {
    return this.life.during(this.#timed(call, (timed) => this.#dropField(name, field, timed)));
  }

  /**
   * Changes the type of a field to DOUBLE.
   * @throws as `dropField`.
   */
  modifyField(name: string, field: string, call: Call): Promise<void> {
    return this.life.during(this.#timed(call, (timed) => this.#modifyField(name, field, timed)));
  }

  flush(name: string, call: Call): Promise<void> {
    return this.life.during(
      this.#atOwners(
        name,
        call,
        ({ tableId }) =>
          (owner, regionIds) =>
            owner.flushTable({ tableId, regionIds }, call),
      ),
    );
  }

  compact(name: string, call: Call): Promise<void> {
    return this.life.during(
      this.#atOwners(
        name,
        call,
        ({ tableId }) =>
          (owner, regionIds) =>
            owner.compactTable({ tableId, regionIds }, call),
      ),
    );
  }

  truncate(name: string, call: Call): Promise<void> {
    return this.life.during(
      this.#atOwners(
        name,
        call,
        ({ tableId }) =>
          (owner, regionIds) =>
            owner.truncateTable({ tableId, regionIds }, call),
      ),
    );
  }

  /**
   * Drops a table.
   * @returns whether every owner has confirmed it, or is known to have ended.
   */
  drop(name: string, call: Call): Promise<boolean> {
    return this.life.during(this.#timed(call, (timed) => this.#confirmedDrop(name, timed)));
  }

  async #start(life: Life): Promise<void> {
    const { scheduler, disk, sandboxes, folder } = this.#world;
    const instance = engineOf(await scheduler.work(life, sandboxes.take()), life, scheduler);
    const fs = disk.fileSystemOf(life);
    const dataFolder = await DataFolder.open(folder, { fs, clock: life.clock, random: life.random });
    const joined = await joinWorld(this.#world, life, 'querier', { dataFolder });
    const { catalog, ingesters, metadata, membership } = joined;
    const manifests = new ManifestCache(metadata);
    const store = new LocalStore(`${folder}/store`, fs);
    const connection = await instance.connect();
    const { clock } = life;
    const indexes = new SharedIndexes({
      ...{ connection, files: store, clock, nameOf: labelOfTagColumn },
      memory: { ownBytes: 1 << 20, borrowedBytes: 0 },
      latestSchema: (tableId) => latestSchema(tableId, { catalog, clock }),
    });
    const snapshots = new RegionSnapshots({
      catalog,
      ingesters,
      manifests,
      store,
      connection,
      appending: await instance.connect(),
      // Some parts find no memory: their rows go to the engine at once.
      batchMemory: { bytesLeft: 4096 },
      clock,
      indexes,
      confirmDataFolder: () => membership.confirmDataFolder(),
    });
    catalog.onManifest((manifest) => {
      manifests.apply(manifest);
      snapshots.noteFlush(manifest);
    });
    catalog.onReset(() => manifests.clear());
    catalog.onDropped((dropped) => void snapshots.removeTable(dropped));
    const sender = new RegionSender({
      clock: life.clock,
      random: life.random,
      catalog,
      ingesters,
      metrics: this.#world.metrics,
    });
    this.#running = { joined, snapshots, instance, sink: new RowSink(sender, this.#world.metrics) };
    await membership.reportState('ready');
  }

  #parts(): Running {
    invariant(this.#running !== undefined, `${this.name} has not started`);
    return this.#running;
  }

  async #table(name: string, fields: readonly string[], call: Call): Promise<Table> {
    const { catalog, metadata } = this.#parts().joined;
    const table = await catalog.table('public', name, call);
    const names = new Set(table.columns.map((column) => column.name));
    if (fields.every((field) => names.has(field))) return table;
    const newer = await metadata.getTable({ database: 'public', name, tableId: 0 }, call);
    catalog.apply(newer);
    return newer;
  }

  async #read(name: string, fields: readonly string[], call: Call): Promise<ReadAnswer> {
    const { snapshots, instance } = this.#parts();
    const table = await this.#table(name, fields, call);
    const request = {
      table,
      columns: undefined,
      timeFrom: undefined,
      timeTo: undefined,
      tagValues: new Map(),
      texts: [],
    };
    // As queries do: a guess that counts as right must be right.
    const guess = await snapshots.guess([request], call);
    const snapshot = await snapshots.take([request], call, { guess }).catch((error: unknown) => {
      guess?.release();
      throw error;
    });
    if (snapshot !== guess) guess?.release();
    const names = table.columns.filter((column) => column.kind === 'field').map((column) => column.name);
    const connection = await instance.connect();
    try {
      const columns = ['host', `epoch_ns(${TIME_COLUMN})`, ...names].join(', ');
      const result = await connection.run(`SELECT ${columns} FROM ${(await snapshot.relations())[0]}`);
      const rows = (await result.getRows()).map(([host, time, ...values]): ReadRow => {
        const set = names.flatMap((field, i) => (values[i] === null ? [] : [[field, Number(values[i])] as const]));
        return { host: String(host), timeNs: time as bigint, fields: Object.fromEntries(set) };
      });
      return { tableId: table.tableId, fields: names, rows };
    } finally {
      connection.closeSync();
      snapshot.release();
    }
  }

  async #delete(name: string, condition: string, call: Call): Promise<void> {
    await deleteInRounds(
      () => this.#deleteOnce(name, condition, call),
      (forMs) => this.life.clock.sleep(forMs, call.signal),
    );
  }

  async #deleteOnce(name: string, condition: string, call: Call): Promise<DeleteRound> {
    checkCall(call);
    const { snapshots, instance, sink } = this.#parts();
    const table = await this.#table(name, [], call);
    const columns = table.columns.filter(({ kind }) => kind !== 'field');
    const request = {
      table,
      columns: undefined,
      timeFrom: undefined,
      timeTo: undefined,
      tagValues: new Map(),
      texts: [],
    };
    const snapshot = await snapshots.take([request], call);
    const connection = await instance.connect();
    try {
      const keys = columns.map((column) => (column.kind === 'tag' ? 'host' : `epoch_ns(${TIME_COLUMN})`));
      const sql = `SELECT ${keys.join(', ')} FROM ${(await snapshot.relations())[0]} WHERE ${condition}`;
      const rows = (await (await connection.run(sql)).getRows()) as CellValue[][];
      return {
        ...(await sink.delete(table, columns, blockOf(rows), snapshot.sequences, call)),
        isOfRowsAlone: true,
      };
    } finally {
      connection.closeSync();
      snapshot.release();
    }
  }

  #dropField(name: string, field: string, call: Call): Promise<void> {
    return this.#alter(name, (columns) => columns.filter((column) => column.name !== field), call);
  }

  #modifyField(name: string, field: string, call: Call): Promise<void> {
    const modified = (column: Column): Column => (column.name === field ? { ...column, type: 'Float64' } : column);
    return this.#alter(name, (columns) => columns.map(modified), call);
  }

  async #alter(name: string, change: (columns: readonly Column[]) => Column[], call: Call): Promise<void> {
    const { catalog, metadata } = this.#parts().joined;
    const table = await metadata.getTable({ database: 'public', name, tableId: 0 }, call);
    const columns = change(table.columns);
    const { tableId, schemaVersion, options, primaryKey } = table;
    const request = { tableId, schemaVersion, name, columns, options, primaryKey };
    const { catalogVersion } = await metadata.alterTable(request, call);
    await catalog.reached(catalogVersion, call);
  }

  async #atOwners(name: string, call: Call, work: (table: Table) => Parameters<typeof atAllOwners>[3]): Promise<void> {
    const { catalog, metadata, ingesters } = this.#parts().joined;
    const table = await catalog.table('public', name, call);
    const deps = { metadata, ingesters } as unknown as StatementDeps;
    await atAllOwners(deps, table, call, work(table));
  }

  /** As the service does: what waits for the catalog ends with its signal. */
  async #timed<T>(outerCall: Call, work: (call: Call) => Promise<T>): Promise<T> {
    const timed = withDeadline(outerCall, this.life.clock, STATEMENT_MS_MAX);
    try {
      return await work(timed.call);
    } finally {
      timed.close();
    }
  }

  async #confirmedDrop(name: string, call: Call): Promise<boolean> {
    const { catalog, metadata, ingesters } = this.#parts().joined;
    const { table, catalogVersion } = await metadata.dropTable({ database: 'public', name, ifExists: true }, call);
    const deps = { catalog, ingesters, clock: this.life.clock };
    const passedOver = await confirmDropped(deps, table === undefined ? [] : [table], catalogVersion, call);
    return passedOver.length === 0;
  }
}

async function* blockOf(rows: readonly CellValue[][]): AsyncIterable<readonly CellValue[][]> {
  await Promise.resolve();
  yield rows;
}
