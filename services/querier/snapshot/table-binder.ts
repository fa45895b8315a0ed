import type { Clock } from '#shared/clock/clock';
import { checkCall, type Call } from '#shared/contracts/call';
import type { Segment } from '#shared/contracts/gen/common';
import type { LocalStore } from '#shared/segments/local-store';

import type { TagColumn } from '../series/tag-column.js';
import { bindTable, checkTarget, lateBandsOf, partsRead, readRows } from './bind.js';
import type { BindRequest, TableRead } from './binding.js';
import {
  requestedTimes,
  chosenSegments,
  mayRepeat,
  requestedRows,
  skippedOf,
  tagIds,
  type ChosenRegion,
} from './chosen-segments.js';
import type { EngineView } from './engine-rows.js';
import type { FileColumns, ManifestFile, SegmentFiles } from './segment-files.js';
import { ANY_SERIES, type TagValues } from './series-table.js';
import type { RegionSource, TableSource } from './snapshots.js';
import type { BoundSegment } from './sources.js';
import { ALL_ROWS, TermSearch, type MatchingRows } from './term-search.js';

/** A table of a snapshot, with the views that its relation reads. */
export interface BoundTable {
  readonly views: readonly EngineView[];
  /** Returns the relation, once the engine has its rows. */
  readonly relation: () => Promise<string>;
  /** Returns the relation without rows. */
  readonly nothing: () => string;
  /** Returns what is read, for EXPLAIN. */
  readonly read: () => TableRead;
  readonly source: TableSource;
  /** Returns all files that the relation reads. */
  files(): readonly ManifestFile[];
  readonly mayRepeat: boolean;
}

/** What a relation reads. */
interface ChosenRegions {
  readonly request: BindRequest;
  readonly tagValues: TagValues;
  readonly views: readonly EngineView[];
  readonly chosen: readonly ChosenRegion[];
}

/** Collaborators of a `TableBinder`. */
interface TableBinderDeps {
  readonly store: LocalStore;
  readonly files: SegmentFiles;
  readonly clock: Clock;
}

/** Memory for the directories of term indexes: about 160 bytes for each 16 KiB of distinct terms. */
const TERM_CACHE_BYTES = 32 * 1024 * 1024;

/** Binds tables to the segments and unflushed rows that requests read. */
export class TableBinder {
  readonly #files: SegmentFiles;
  readonly #terms: TermSearch;
  readonly #clock: Clock;

  constructor({ store, files, clock }: TableBinderDeps) {
    this.#files = files;
    this.#terms = new TermSearch(store, TERM_CACHE_BYTES);
    this.#clock = clock;
  }

  /**
   * Binds a request to the files and rows of views.
   *
   * @param isGuess whether the files may have been merged away, which is then not reported as damage
   */
  async bind(request: BindRequest, views: readonly EngineView[], call: Call, isGuess = false): Promise<BoundTable> {
    const tagValues = tagIds(request);
    const chosen: ChosenRegion[] = [];
    for (const whole of views) {
      const view = requestedRows(whole, request);
      const matching = await this.#files.readChecked(
        view.manifest.seriesFiles,
        async () => (await view.series?.matching(tagValues, view.seriesCount)) ?? ANY_SERIES,
      );
      const { inTime, segments } = chosenSegments(view, matching, request);
      await (isGuess ? this.#files.checkKnown(segments) : this.#files.check(segments));
      const sources = await this.#files.readChecked(segments, () => this.#sources(segments, request, call));
      chosen.push({ view, matching, inTime, segments: sources });
    }
    return this.#boundRegions({ request, tagValues, views, chosen }, call);
  }

  /** Does what `bind` does, if nothing has to be waited for; undefined otherwise. */
  bindNow(request: BindRequest, views: readonly EngineView[], call: Call): BoundTable | undefined {
    if (request.texts.length > 0) return undefined;
    const tagValues = tagIds(request);
    const chosen: ChosenRegion[] = [];
    for (const view of views) {
      const { series } = view;
      const matching = series === undefined ? ANY_SERIES : series.readyMatching(tagValues, view.seriesCount);
      if (matching === undefined) return undefined;
      const { inTime, segments } = chosenSegments(view, matching, request);
      if (!this.#files.areIntact(segments)) return undefined;
      const sources: BoundSegment[] = [];
      for (const segment of segments) {
        const columns = this.#files.readyColumnsOf(segment);
        if (columns === undefined) return undefined;
        sources.push(this.#boundSegment(segment, columns, ALL_ROWS));
      }
      chosen.push({ view, matching, inTime, segments: sources });
    }
    return this.#boundRegions({ request, tagValues, views, chosen }, call);
  }

  #boundRegions({ request, tagValues, views, chosen }: ChosenRegions, call: Call): BoundTable {
    const bounds = requestedTimes(request);
    const { table, columns, texts, everyVersion } = request;
    const target = { table, columns, bounds, texts, everyVersion };
    const regions: RegionSource[] = [];
    for (const { view, matching, segments } of chosen) {
      const { named, metrics, selected, isUnselected } = matching;
      const region = { view, segments, named, metrics };
      checkTarget(region, target);
      const tagColumn: RegionSource['tagColumn'] = (tagId) => this.#tagColumn(view, tagId);
      const lateBands = lateBandsOf(region, target);
      regions.push({ view, segments, named, metrics, selected, isUnselected, tagColumn, lateBands });
    }
    const pause = (): Promise<void> => this.#clock.yield();
    let sql: string | undefined;
    const relation = async (): Promise<string> => {
      // Rows that others append meanwhile may widen the times of further parts, whose tables are not filled.
      const read = regions.map((region) => ({ ...region, view: { ...region.view, parts: partsRead(region, target) } }));
      for (const { part } of read.flatMap(({ view }) => view.parts)) {
        checkCall(call);
        await part.fillTable(pause);
      }
      return (sql ??= bindTable(read, target));
    };
    return {
      views,
      relation,
      nothing: () => bindTable([], target),
      read: () => ({ ...skippedOf(views, chosen), ...readRows(regions, target) }),
      source: { table, bounds, tagValues, regions },
      files: () =>
        chosen.flatMap(({ view, segments }) => [
          ...segments.map(({ segment }) => segment),
          ...view.manifest.seriesFiles,
        ]),
      mayRepeat: views.some((whole) => mayRepeat(whole, request)),
    };
  }

  async #tagColumn({ series, manifest }: EngineView, tagId: number): Promise<TagColumn | undefined> {
    return series && this.#files.readChecked(manifest.seriesFiles, () => series.tagColumn(tagId));
  }

  async #sources(segments: readonly Segment[], { table, texts }: BindRequest, call: Call): Promise<BoundSegment[]> {
    const selections = await this.#terms.select(segments, table, texts, call);
    const sources: BoundSegment[] = [];
    for (const [i, segment] of segments.entries()) {
      sources.push(this.#boundSegment(segment, await this.#files.columnsOf(segment), selections[i]));
    }
    return sources;
  }

  #boundSegment(segment: Segment, columns: FileColumns, selection: MatchingRows): BoundSegment {
    const { path } = segment;
    return { segment, columns, path: this.#files.absolute(path), name: this.#files.nameOf(path), selection };
  }
}
