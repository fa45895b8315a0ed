import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { errorCode } from '#shared/fs/node-file-system';
import { tagsOf } from '#shared/schema/table-schema';
import type { LocalStore } from '#shared/segments/local-store';

import { overlaps, type TimeBounds } from './bands.js';
import { bindTable, type BoundRegion } from './bind.js';
import type { BindRequest, Snapshot, Snapshots } from './binding.js';
import type { RegionView } from './fresh-rows.js';
import { SegmentFiles } from './segment-files.js';
import type { SegmentSource } from './sources.js';
import { TableRows, type KnownTables, type TableRowsDeps } from './table-rows.js';

export interface SnapshotDeps {
  readonly catalog: KnownTables;
  readonly ingesters: Ingesters;
  readonly manifests: ManifestCache;
  readonly store: LocalStore;
  /** Makes and drops the tables of fresh rows. */
  readonly connection: DuckDBConnection;
  /** Appends to them. */
  readonly appending: DuckDBConnection;
  readonly clock: Clock;
  /** Before the first look at a file. */
  readonly confirmDataFolder: () => Promise<void>;
}

/** Takes snapshots for queries: segments by the manifest, and the rows that owners hold behind it. */
export class RegionSnapshots implements Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #rowsDeps: TableRowsDeps;
  readonly #tables = new Map<number, TableRows>();
  readonly #files: SegmentFiles;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
    this.#files = new SegmentFiles(deps.store, deps.connection, deps.confirmDataFolder);
    this.#rowsDeps = { ...deps, files: this.#files };
  }

  async take(requests: readonly BindRequest[], call: Call): Promise<Snapshot> {
    const views: RegionView[] = [];
    const release = (): void => {
      for (const view of views.splice(0)) view.release();
    };
    try {
      const relations: string[] = [];
      const considered: number[] = [];
      const read: number[] = [];
      for (const request of requests) {
        const bound = await this.#bindRegions(request, views, call);
        const bounds = boundsOf(request);
        relations.push(bindTable(bound, { ...request, bounds }));
        considered.push(sum(bound.map(({ view }) => view.manifest.segments.length)));
        read.push(sum(bound.map(({ segments }) => segments.length)));
      }
      return { relations, segmentsConsidered: considered, segmentsRead: read, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Forgets a dropped table. */
  async dropped({
    tableId,
    regionIds,
  }: {
    readonly tableId: number;
    readonly regionIds: readonly number[];
  }): Promise<void> {
    const rows = this.#tables.get(tableId);
    this.#tables.delete(tableId);
    for (const regionId of regionIds) this.#deps.manifests.forget(regionId);
    await rows?.close();
  }

  /** The table's regions with files that are there and whole; a missing file means that a manifest was too old. */
  async #bindRegions(request: BindRequest, views: RegionView[], call: Call): Promise<BoundRegion[]> {
    try {
      return await this.#checkedViews(request, views, call);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
    await Promise.all(request.table.regions.map(({ regionId }) => this.#deps.manifests.refresh(regionId, call)));
    try {
      return await this.#checkedViews(request, views, call);
    } catch (error) {
      throw errorCode(error) === 'ENOENT' ? this.#missing(error) : error;
    }
  }

  #missing(cause: unknown): AlmanacError {
    const { path = '' } = cause as NodeJS.ErrnoException;
    const name = path.replace(`${this.#deps.store.root}/`, '');
    return new AlmanacError('storage_unavailable', `"${name}" is missing`, { cause });
  }

  async #checkedViews(request: BindRequest, views: RegionView[], call: Call): Promise<BoundRegion[]> {
    const taken = await this.#rows(request.table).view(request.table, call);
    views.push(...taken);
    const tagValues = tagIds(request);
    const bound: BoundRegion[] = [];
    for (const view of taken) {
      const named = await view.series?.matching(this.#deps.connection, tagValues);
      const segments = prune(view.manifest, boundsOf(request), named?.sids);
      await this.#files.check(segments);
      bound.push({ view, segments: await this.#sources(segments), named });
    }
    return bound;
  }

  async #sources(segments: readonly Segment[]): Promise<SegmentSource[]> {
    const sources: SegmentSource[] = [];
    for (const segment of segments) {
      const columns = await this.#files.columnsOf(segment);
      sources.push({ segment, columns, path: this.#files.absolute(segment.path) });
    }
    return sources;
  }

  #rows({ tableId }: Table): TableRows {
    let rows = this.#tables.get(tableId);
    if (rows === undefined) {
      rows = new TableRows(tableId, this.#rowsDeps);
      this.#tables.set(tableId, rows);
    }
    return rows;
  }
}

function boundsOf({ timeFrom, timeTo }: BindRequest): TimeBounds {
  return { from: timeFrom, to: timeTo };
}

function prune(manifest: RegionManifest, bounds: TimeBounds, sids: readonly number[] | undefined): Segment[] {
  return manifest.segments.filter((segment) => {
    if (!overlaps({ first: segment.timeFirst, last: segment.timeLast }, bounds)) return false;
    return sids?.some((sid) => sid >= segment.sidFirst && sid <= segment.sidLast) ?? true;
  });
}

/** The wanted tag values by column id. */
function tagIds({ table, tagValues }: BindRequest): ReadonlyMap<number, readonly string[]> {
  const ids = new Map<number, readonly string[]>();
  for (const column of tagsOf(table)) {
    const values = tagValues.get(column.name);
    if (values !== undefined) ids.set(column.id, values);
  }
  return ids;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
