import type { Clock } from '#shared/clock/clock';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import type { ScanPart, ScanRegion } from '#shared/contracts/gen/ingester';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import { fromDuckDb } from '#shared/duckdb/errors';

import { decodeRowBatch } from '#shared/rowbatch/arrow';

import type { RowsLayout, RowsPart, SeriesRows } from './rows-layout.js';
import type { SegmentFiles } from './segment-files.js';

export interface FreshRowsDeps<P extends RowsPart, S extends SeriesRows> {
  readonly manifests: ManifestCache;
  readonly form: RowsLayout<P, S>;
  readonly files: SegmentFiles;
  readonly clock: Clock;
}

/** A part and the rows of it that a snapshot reads. */
export interface PartView<P extends RowsPart> {
  readonly part: P;
  readonly rowCount: number;
}

/** One region at one moment: segments by the manifest, and everything behind its watermark. */
export interface RegionView<P extends RowsPart, S extends SeriesRows> {
  readonly manifest: RegionManifest;
  readonly parts: readonly PartView<P>[];
  /** Undefined if the form has none of the table. */
  readonly series: S | undefined;
  /** How many series it had. */
  readonly seriesCount: number;
  /** The last row that is in it. */
  readonly sequenceTo: bigint;
  /** The same view once more, to be released by itself. */
  again(): RegionView<P, S>;
  release(): void;
}

/** Whether both have the same rows and series. */
export function areEqualViews<P extends RowsPart, S extends SeriesRows>(
  a: RegionView<P, S>,
  b: RegionView<P, S>,
): boolean {
  if (a.manifest !== b.manifest || a.series !== b.series || a.seriesCount !== b.seriesCount) return false;
  if (a.parts.length !== b.parts.length) return false;
  return a.parts.every(({ part, rowCount }, i) => part === b.parts[i].part && rowCount === b.parts[i].rowCount);
}

/** What a part of an owner's answer means for its region. */
export type FetchedPart =
  | 'more'
  /** All is here. */
  | 'whole'
  /** The question was put by an old manifest: it is to be put again. */
  | 'old_manifest';

/**
 * The unflushed rows of one region in one form, brought up to date at each read of its table, one
 * read at a time (`TableRows`): `prepare`, a question to the owner, `meet` and `take` of its answer, and `pinned`.
 *
 * Only what is new is fetched. A part is dropped when the manifest covers it and no running read uses it.
 */
export class FreshRows<P extends RowsPart, S extends SeriesRows> {
  readonly #regionId: number;
  readonly #deps: FreshRowsDeps<P, S>;
  #parts: P[] = [];
  #series: S | undefined;
  #incarnation = 0n;
  /** Of the grant that rows and series are of; 0 until it is known. */
  #epoch = 0;

  constructor(regionId: number, deps: FreshRowsDeps<P, S>) {
    this.#regionId = regionId;
    this.#deps = deps;
  }

  /** Drops all; views that are held keep theirs until they are released. */
  async close(): Promise<void> {
    await this.#forgetAll();
  }

  /** Makes ready for a question. @returns the manifest that it is put by. */
  async prepare(table: Table): Promise<RegionManifest> {
    const manifest = this.#deps.manifests.known(this.#regionId) ?? nothingKnown(table, this.#regionId);
    await this.#noteGrant(manifest.epoch);
    await this.#dropCovered(manifest.watermark);
    // Rows between the watermark and the first part would be missed; the owner then sends everything behind it.
    if (this.#parts.length > 0 && this.#parts[0].sequenceFrom > manifest.watermark) await this.#forgetAll();
    // A commit of an owner's earlier life, which came late, covers some rows of a generation of the present one.
    if (this.#parts.some((part) => part.sequenceFrom < manifest.watermark)) await this.#forgetAll();
    // An earlier read did not know all columns yet that its rows had.
    if (this.#parts.some((part) => part.lacks(table))) await this.#forgetAll();
    await this.#prepareSeries(table, manifest);
    return manifest;
  }

  /** What the owner is asked: what is lacking behind the manifest's watermark. */
  question(manifest: RegionManifest, epoch: number): ScanRegion {
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
   * Hears which life of the owner answers.
   *
   * @returns whether it began since the last read: the question is to be put again.
   */
  async meet(incarnation: bigint): Promise<boolean> {
    if (incarnation === this.#incarnation) return false;
    const isFirst = this.#incarnation === 0n;
    this.#incarnation = incarnation;
    // What an earlier life of the owner told may not be durable: series and rows are fetched anew.
    if (!isFirst) await this.#forgetAll();
    return !isFirst;
  }

  /** Takes over a part of the answer of an owner that was met. */
  async take(table: Table, part: ScanPart): Promise<FetchedPart> {
    if (part.newerManifest !== undefined) {
      this.#deps.manifests.apply(part.newerManifest);
      return 'old_manifest';
    }
    try {
      await this.#append(table, part);
    } catch (error) {
      // Some of the part may be in the tables, and rows that are counted may not: the next read fetches all anew.
      await this.#forgetAll();
      throw fromDuckDb(error);
    }
    return part.complete ? 'whole' : 'more';
  }

  /** The region as it is after a whole answer. */
  pinned(manifest: RegionManifest): RegionView<P, S> {
    const parts = this.#parts.map((part) => ({ part, rowCount: part.rowCount }));
    const series = this.#series;
    const sequenceTo = this.#parts.at(-1)?.sequenceTo ?? manifest.watermark;
    return this.#view({ manifest, parts, series, seriesCount: series?.count ?? 0, sequenceTo });
  }

  #view(of: Omit<RegionView<P, S>, 'again' | 'release'>): RegionView<P, S> {
    const { parts, series } = of;
    for (const { part } of parts) part.pins++;
    if (series !== undefined) series.pins++;
    return {
      ...of,
      again: () => this.#view(of),
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
      if (part?.takes(scanned, batch) !== true) {
        part = await this.#deps.form.createPart(this.#regionId, table, scanned, batch);
        this.#parts.push(part);
      }
      await part.append(scanned, batch, () => this.#deps.clock.yield());
    }
    if (scan.batches.length > 0) for (const part of this.#parts) part.flush();
    if (this.#series !== undefined) await this.#series.append(scan);
  }

  async #prepareSeries(table: Table, manifest: RegionManifest): Promise<void> {
    const { form, files } = this.#deps;
    const publishedCount = manifest.seriesFiles.reduce((most, { sidLast }) => Math.max(most, sidLast + 1), 0);
    if (this.#series?.fits(table, publishedCount) !== true) {
      const old = this.#series;
      this.#series = await form.createSeries(this.#regionId, table);
      if (old !== undefined) await this.#discard(old);
      if (this.#series === undefined) return;
    }
    const series = this.#series;
    const { count } = series;
    const lacking = manifest.seriesFiles.filter((file) => file.sidLast >= count);
    await files.check(lacking);
    await files.reading(lacking, () => series.load(lacking));
  }

  async #unpin(rows: P | S): Promise<void> {
    rows.pins--;
    if (rows.isObsolete && rows.pins === 0) await this.#deps.form.drop(rows);
  }

  /** Numbers of series of which only the log of a closed grant knew are given to others under the next one. */
  async #noteGrant(epoch: number): Promise<void> {
    if (epoch === 0 || epoch === this.#epoch) return;
    if (this.#epoch !== 0) await this.#forgetAll();
    this.#epoch = epoch;
  }

  async #dropCovered(watermark: bigint): Promise<void> {
    const covered = this.#parts.filter((part) => part.sequenceTo <= watermark);
    if (covered.length === 0) return;
    this.#parts = this.#parts.filter((part) => part.sequenceTo > watermark);
    for (const part of covered) await this.#discard(part);
  }

  async #forgetAll(): Promise<void> {
    const all = [...this.#parts, ...(this.#series === undefined ? [] : [this.#series])];
    this.#parts = [];
    this.#series = undefined;
    for (const rows of all) await this.#discard(rows);
  }

  async #discard(rows: P | S): Promise<void> {
    rows.isObsolete = true;
    if (rows.pins === 0) await this.#deps.form.drop(rows);
  }
}

/** Older than any manifest: the owner's answer brings the present one, so that a first read needs no metadata. */
function nothingKnown({ tableId }: Table, regionId: number): RegionManifest {
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
