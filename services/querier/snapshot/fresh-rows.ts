import type { Clock } from '#shared/clock/clock';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import type { ScanPart, ScanRegion } from '#shared/contracts/gen/ingester';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import { fromDuckDb, isOutOfMemory, namedIfOutOfMemory } from '#shared/duckdb/errors';

import { decodeRowBatch } from '#shared/rowbatch/arrow';
import { tagsOf } from '#shared/schema/table-schema';

import type { RowsLayout, RowsPart, SeriesRows } from './rows-layout.js';
import type { SegmentFiles } from './segment-files.js';

/** Collaborators of a `FreshRows`. */
export interface FreshRowsDeps<P extends RowsPart, S extends SeriesRows> {
  readonly manifests: ManifestCache;
  readonly layout: RowsLayout<P, S>;
  readonly files: SegmentFiles;
  readonly clock: Clock;
}

/** The reads of a table, of which one region has the rows. */
export interface ReadsOfTable {
  /** Returns when the last read began, as monotonic milliseconds. */
  lastReadMs(): number;
  /** Reports whether a read runs or waits. */
  isBusy(): boolean;
  /** Returns the views of the last read, which are held for the next one. */
  heldViews(): readonly { readonly series: unknown }[];
  /** Releases these views. */
  releaseHeld(): void;
}

/** The rows of a part that a snapshot reads. */
export interface PartView<P extends RowsPart> {
  readonly part: P;
  readonly rowCount: number;
  /** Number of first rows that are not read. */
  readonly skipCount?: number;
}

/** One region at one moment: the segments of its manifest, and all rows after the manifest's watermark. */
export interface RegionView<P extends RowsPart, S extends SeriesRows> {
  /** Views of this process with the same number have the same rows and series, until some of them are left out. */
  readonly version: number;
  readonly manifest: RegionManifest;
  readonly parts: readonly PartView<P>[];
  /** Undefined if the layout keeps no series of the table. */
  readonly series: S | undefined;
  /** Number of series at that moment. */
  readonly seriesCount: number;
  /** Last sequence that the view covers. */
  readonly sequenceTo: bigint;
  /** Returns another hold on the same view, which is released separately. */
  retain(): RegionView<P, S>;
  release(): void;
}

/** Number of views that were made. */
let versions = 0;

/** Reports whether both views have the same rows and series. */
export function areEqualViews<P extends RowsPart, S extends SeriesRows>(
  a: RegionView<P, S>,
  b: RegionView<P, S>,
): boolean {
  if (a.manifest !== b.manifest || a.series !== b.series || a.seriesCount !== b.seriesCount) return false;
  if (a.parts.length !== b.parts.length) return false;
  return a.parts.every(({ part, rowCount }, i) => part === b.parts[i].part && rowCount === b.parts[i].rowCount);
}

/** State of a region's scan after one part of the response. */
export type ScanProgress =
  | 'more'
  /** The scan is complete. */
  | 'whole'
  /** The request had an outdated manifest: it must be sent again. */
  | 'old_manifest';

/**
 * The unflushed rows and the series of one region, in one layout. Each read of the table updates them; `TableRows` runs
 * one read at a time: `prepare`, a scan request to the owner, `checkIncarnation` and `apply` for the response, `pinnedView`.
 *
 * Only new rows are fetched. A part is dropped when the manifest covers it and no running query reads it.
 */
export class FreshRows<P extends RowsPart, S extends SeriesRows> {
  readonly #regionId: number;
  readonly #deps: FreshRowsDeps<P, S>;
  readonly #reads: ReadsOfTable;
  #parts: P[] = [];
  #series: S | undefined;
  #incarnation = 0n;
  /** Epoch of the region's grant that the rows and series belong to; 0 until it is known. */
  #epoch = 0;

  constructor(regionId: number, deps: FreshRowsDeps<P, S>, reads: ReadsOfTable) {
    this.#regionId = regionId;
    this.#deps = deps;
    this.#reads = reads;
  }

  /** Drops all rows and series. Views that are held keep theirs until they are released. */
  async close(): Promise<void> {
    await this.#discardAll();
  }

  /** Prepares the rows for a scan request. @returns the manifest that the request refers to. */
  async prepare(table: Table): Promise<RegionManifest> {
    // A first read learns from the owner's response who numbers the series, before it reads any.
    const known = this.#incarnation === 0n ? undefined : this.#deps.manifests.known(this.#regionId);
    const manifest = known ?? emptyManifest(table, this.#regionId);
    await this.#noteGrant(manifest.epoch);
    await this.dropCovered(manifest.watermark);
    // The rows between the watermark and the first part would be missing; the owner then sends all rows after the watermark.
    if (this.#parts.length > 0 && this.#parts[0].sequenceFrom > manifest.watermark) await this.#discardAll();
    // A delayed commit of an earlier incarnation of the owner covers some rows of a current generation.
    if (this.#parts.some((part) => part.sequenceFrom < manifest.watermark)) await this.#discardAll();
    // An earlier read dropped values of columns that it did not know yet.
    if (this.#parts.some((part) => part.isOutdatedFor(table))) await this.#discardAll();
    await this.#prepareSeries(table, manifest);
    return manifest;
  }

  /** Returns the scan request for the rows after the manifest's watermark that are not here yet. */
  scanRequest(manifest: RegionManifest, epoch: number): ScanRegion {
    return {
      regionId: this.#regionId,
      epoch,
      manifestVersion: manifest.version,
      watermark: manifest.watermark,
      haveIncarnation: this.#incarnation,
      haveFrom: this.#parts[0]?.sequenceFrom ?? 0n,
      haveTo: this.#parts.at(-1)?.sequenceTo ?? 0n,
      haveSeries: this.#series?.count ?? 0,
    };
  }

  /**
   * Returns the scan request of a read that begins now, if it would begin with what a view has; undefined otherwise.
   *
   * @param view of the last read
   */
  requestAfter(view: RegionView<P, S>, table: Table, epoch: number): ScanRegion | undefined {
    const { manifest, parts, series, seriesCount } = view;
    const isSame =
      this.#deps.manifests.known(this.#regionId) === manifest &&
      manifest.epoch === this.#epoch &&
      series === this.#series &&
      seriesCount === (series?.count ?? 0) &&
      parts.length === this.#parts.length &&
      parts.every(({ part, rowCount }, i) => part === this.#parts[i] && rowCount === part.rowCount);
    if (!isSame || this.#parts.some((part) => part.isOutdatedFor(table))) return undefined;
    // A table that has got its first tag needs series.
    if (series === undefined ? tagsOf(table).length > 0 : !series.fits(table, publishedCountOf(manifest))) {
      return undefined;
    }
    return this.scanRequest(manifest, epoch);
  }

  /**
   * Compares the incarnation of the responding owner with that of the last read.
   *
   * @returns whether the owner has restarted: the request must then be sent again.
   */
  async checkIncarnation(incarnation: bigint): Promise<boolean> {
    if (incarnation === this.#incarnation) return false;
    const isFirst = this.#incarnation === 0n;
    this.#incarnation = incarnation;
    // Rows of an earlier incarnation may not be durable, so series and rows are fetched from scratch.
    if (!isFirst) await this.#discardAll();
    return !isFirst;
  }

  /** Drops the parts whose rows a manifest has; not to be called during a read that does not know the manifest. */
  async dropCovered(watermark: bigint): Promise<void> {
    const covered = this.#parts.filter((part) => part.sequenceTo <= watermark);
    if (covered.length === 0) return;
    this.#parts = this.#parts.filter((part) => part.sequenceTo > watermark);
    for (const part of covered) await this.#discard(part);
  }

  /** Applies a part of an owner's response. The incarnation must have been checked. */
  async apply(table: Table, part: ScanPart): Promise<ScanProgress> {
    if (part.newerManifest !== undefined) {
      this.#deps.manifests.apply(part.newerManifest);
      return 'old_manifest';
    }
    try {
      await this.#append(table, part);
    } catch (error) {
      // Tables may have some of the part's rows without counting them, so the next read fetches everything from scratch.
      this.#reads.releaseHeld();
      await this.#discardAll();
      throw fromDuckDb(error);
    }
    return part.complete ? 'whole' : 'more';
  }

  /** Returns a view of the region after a complete response. */
  pinnedView(manifest: RegionManifest): RegionView<P, S> {
    const parts = this.#parts.map((part) => ({ part, rowCount: part.rowCount }));
    const series = this.#series;
    const sequenceTo = this.#parts.at(-1)?.sequenceTo ?? manifest.watermark;
    return this.#view({ version: versions++, manifest, parts, series, seriesCount: series?.count ?? 0, sequenceTo });
  }

  #view(of: Omit<RegionView<P, S>, 'retain' | 'release'>): RegionView<P, S> {
    const { version, manifest, parts, series, seriesCount, sequenceTo } = of;
    for (const { part } of parts) part.pins++;
    if (series !== undefined) series.pins++;
    return {
      version,
      manifest,
      parts,
      series,
      seriesCount,
      sequenceTo,
      retain: () => this.#view(of),
      release: () => {
        for (const { part } of parts) void this.#unpin(part);
        if (series !== undefined) void this.#unpin(series);
      },
    };
  }

  async #append(table: Table, scan: ScanPart): Promise<void> {
    for (const scanned of scan.batches) {
      const batch = decodeRowBatch(scanned.batch);
      let part = this.#parts.at(-1);
      if (part?.accepts(scanned, batch) !== true) {
        part = await this.#deps.layout.createPart(this.#regionId, table, scanned, batch);
        this.#parts.push(part);
      }
      await part.append(scanned, batch, () => this.#deps.clock.yield());
    }
    if (scan.batches.length > 0) for (const part of this.#parts) part.flush();
    if (this.#series !== undefined) await this.#series.append(scan);
  }

  async #prepareSeries(table: Table, manifest: RegionManifest): Promise<void> {
    const { layout, files } = this.#deps;
    if (this.#series?.fits(table, publishedCountOf(manifest)) !== true) {
      const old = this.#series;
      const created = await layout.createSeries(this.#regionId, table).catch((error: unknown) => {
        throw namedIfOutOfMemory(error);
      });
      this.#series = created;
      if (created !== undefined) this.#makeEvictable(created);
      // Before the old ones are discarded, so that their index is kept.
      this.#shareSeries();
      if (old !== undefined) await this.#discard(old);
      if (this.#series === undefined) return;
    }
    this.#shareSeries();
    const series = this.#series;
    const { count } = series;
    const missing = manifest.seriesFiles.filter((file) => file.sidLast >= count);
    await files.check(missing);
    try {
      await files.readChecked(missing, () => series.load(missing));
    } catch (error) {
      // The memory of what was loaded is of more use to others. Views that are held for the next read have it, too.
      if (isOutOfMemory(error)) {
        this.#reads.releaseHeld();
        await this.#discardSeries(series);
      }
      throw namedIfOutOfMemory(error);
    }
  }

  /** Lets others have the memory of the index when no query reads the series. */
  #makeEvictable(series: S): void {
    const reads = this.#reads;
    series.readBy({
      lastReadMs: () => reads.lastReadMs(),
      isIdle: () => {
        const held = reads.heldViews().filter((view) => view.series === series).length;
        return this.#series === series && !reads.isBusy() && series.pins === held;
      },
      discard: () => {
        reads.releaseHeld();
        void this.#discardSeries(series);
      },
    });
  }

  async #discardSeries(series: S): Promise<void> {
    if (this.#series === series) this.#series = undefined;
    await this.#discard(series);
  }

  /** The owner's process and grant identify who numbered the series. */
  #shareSeries(): void {
    if (this.#epoch !== 0 && this.#incarnation !== 0n) this.#series?.share(`${this.#epoch} ${this.#incarnation}`);
  }

  async #unpin(rows: P | S): Promise<void> {
    rows.pins--;
    if (rows.isObsolete && rows.pins === 0) await this.#deps.layout.drop(rows);
  }

  /** Discards all rows of an earlier grant: the next grant may reuse series numbers that only the old log defined. */
  async #noteGrant(epoch: number): Promise<void> {
    if (epoch === 0 || epoch === this.#epoch) return;
    if (this.#epoch !== 0) await this.#discardAll();
    this.#epoch = epoch;
  }

  async #discardAll(): Promise<void> {
    const all = [...this.#parts, ...(this.#series === undefined ? [] : [this.#series])];
    this.#parts = [];
    this.#series = undefined;
    for (const rows of all) await this.#discard(rows);
  }

  async #discard(rows: P | S): Promise<void> {
    rows.isObsolete = true;
    if (rows.pins === 0) await this.#deps.layout.drop(rows);
    else if ('noteObsolete' in rows) rows.noteObsolete?.();
  }
}

/** Returns the number of series that are in series files. */
function publishedCountOf({ seriesFiles }: RegionManifest): number {
  return seriesFiles.reduce((most, { sidLast }) => Math.max(most, sidLast + 1), 0);
}

/** Returns a manifest older than any other: the owner's response brings the current one, so a first read needs no metadata. */
function emptyManifest({ tableId }: Table, regionId: number): RegionManifest {
  return {
    regionId,
    tableId,
    epoch: 0,
    watermark: 0n,
    truncatedSequence: 0n,
    version: 0n,
    segments: [],
    seriesFiles: [],
  };
}
