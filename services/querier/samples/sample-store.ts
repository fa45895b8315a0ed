import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { UNCOUNTED_SLOT, type AdmissionSlot } from '#shared/limits/bounded-queue';
import { MissingFile } from '#shared/segments/local-store';
import { isAppendOnly } from '#shared/schema/table-schema';

import type { ColumnSources } from '../columns/query-columns.js';
import type { LabelMatcher } from '../series/matcher.js';
import { FIELD_LABEL } from '../series/field-matchers.js';
import { compareBytes, compareLabels, type Labels } from '../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { compileMatcher, filterByTests } from '../series/matcher.js';
import type { SampleSeries } from '../promql/runtime/samples.js';
import type { SegmentFiles } from '../snapshot/segment-files.js';
import { TableRows, type KnownTables, type TableRowsDeps } from '../snapshot/table-rows.js';
import type { DatabaseState, TableState } from '../series/database-state.js';
import { LargestCounts } from './largest-counts.js';
import type { LabelIndex } from '../series/label-index.js';
import type { SharedIndexes } from '../series/shared-indexes.js';
import { isMetricTable, sampleFields } from './metric-table.js';
import { LabelsCache } from '../series/labels-cache.js';
import { SampleLayout } from './sample-layout.js';
import type { SamplePart } from './sample-part.js';
import { PresentFields } from './present-fields.js';
import type {
  DatabaseSamples,
  SampleCount,
  SampleSources,
  SeriesFacts,
  SeriesQuery,
  StoredSeries,
} from './sample-source.js';
import { SegmentSamples, type SegmentReader } from './segment-samples.js';
import { SeriesBlocks } from './blocks/series-blocks.js';
import { addAll, sortedInSlices } from '../series/sliced-collections.js';
import { storedSeries } from './stored-series.js';
import { TableSamples, type SeriesLocation } from './table-samples.js';

/** Collaborators and limits of a `SampleStore`. */
export interface SampleStoreDeps {
  readonly catalog: Catalog & KnownTables;
  readonly ingesters: Ingesters;
  readonly manifests: ManifestCache;
  readonly files: SegmentFiles;
  /** Indexes of series, shared with SQL. */
  readonly indexes: SharedIndexes;
  /** Footers and runs of segments. */
  readonly columns: ColumnSources;
  /** Reads segments that the querier cannot decode itself. Used for samples and indexes of series only. */
  readonly connection: DuckDBConnection;
  readonly clock: Clock;
  /** Memory limit of decoded samples of segments, and of what indexes of series borrow, in bytes. */
  readonly cacheBytes: number;
  /** Memory limit of cached labels, in bytes. */
  readonly labelBytes: number;
  /** Name of the metric metadata table, which is not itself exposed as a metric. */
  readonly metadataTable: string;
  /** Called for each segment from which samples were read. */
  readonly segmentRead: (reader: SegmentReader) => void;
}

interface TableReadOptions {
  /** Released while waiting for reads of segments. Undefined: the query is not counted. */
  readonly slot?: AdmissionSlot;
  /** Undefined: samples are not counted. */
  readonly count?: SampleCount;
  /** Time from which expiry is computed. */
  readonly nowNs?: bigint;
}

/** Samples of all tables for PromQL: keeps fresh rows and decoded segments in arrays between queries. */
export class SampleStore implements SampleSources {
  readonly #deps: SampleStoreDeps;
  readonly #rowsDeps: TableRowsDeps<SamplePart, LabelIndex>;
  readonly #segments: SegmentSamples;
  readonly #present: PresentFields;
  readonly #blocks: SeriesBlocks;
  readonly #tables = new Map<number, TableRows<SamplePart, LabelIndex>>();
  /** The tables that PromQL can read, by the list of all, which is the same array until a table changes. */
  readonly #read = new WeakMap<readonly Table[], readonly Table[]>();

  constructor(deps: SampleStoreDeps) {
    const { files, connection, indexes } = deps;
    this.#deps = deps;
    const labelsMemory = new LabelsCache(deps.labelBytes);
    const onDropped = (index: LabelIndex): void => this.#blocks.removeIndex(index);
    const layout = new SampleLayout({ indexes, labelsMemory, onDropped });
    this.#rowsDeps = { ...deps, layout };
    const samplesBytes = (): number =>
      Math.max(deps.cacheBytes * SAMPLES_SHARE_MIN, deps.cacheBytes - indexes.borrowedBytes);
    this.#blocks = new SeriesBlocks(() => samplesBytes() * BLOCKS_SHARE);
    this.#segments = new SegmentSamples({ ...deps, limitBytes: () => samplesBytes() * (1 - BLOCKS_SHARE) });
    this.#present = new PresentFields({ files, connection });
  }

  async open(
    database: string,
    call: Call,
    slot: AdmissionSlot,
    count: SampleCount = { samples: 0 },
  ): Promise<DatabaseSamples> {
    const { catalog, metadataTable } = this.#deps;
    await catalog.database(database, call);
    const tables = await catalog.tables(database, call);
    let read = this.#read.get(tables);
    if (read === undefined) {
      read = tables.filter((table) => isRead(table) && table.name !== metadataTable);
      this.#read.set(tables, read);
    }
    return new OpenDatabase(read, this, { call, slot, count });
  }

  get clock(): Clock {
    return this.#deps.clock;
  }

  /** Releases the rows of a dropped table. */
  async removeTable({ tableId }: { readonly tableId: number }): Promise<void> {
    const rows = this.#tables.get(tableId);
    this.#tables.delete(tableId);
    this.#blocks.removeTable(tableId);
    await rows?.close();
  }

  /** Opens a table as of now. The caller must release it. */
  async table(table: Table, call: Call, options: TableReadOptions = {}): Promise<TableSamples> {
    const views = await this.#rows(table).view(table, call);
    const { files, clock } = this.#deps;
    const { slot = UNCOUNTED_SLOT, nowNs = clock.nowNs(), count = { samples: 0 } } = options;
    const deps = { files, clock, segments: this.#segments, present: this.#present, blocks: this.#blocks, slot, count };
    return new TableSamples(table, views, deps, nowNs);
  }

  /** Fetches current manifests, after a file of an outdated one was missing. */
  async refresh({ regions }: Table, call: Call): Promise<RegionManifest[]> {
    return Promise.all(regions.map(({ regionId }) => this.#deps.manifests.refresh(regionId, call)));
  }

  #rows({ tableId, name }: Table): TableRows<SamplePart, LabelIndex> {
    let rows = this.#tables.get(tableId);
    if (rows === undefined) {
      if (this.#deps.catalog.knownById(tableId) === undefined) {
        throw new AlmanacError('table_not_found', `table "${name}" was dropped`);
      }
      rows = new TableRows(tableId, this.#rowsDeps);
      this.#tables.set(tableId, rows);
    }
    return rows;
  }
}

/** Share of the cache that samples have, however much of it the indexes of series borrow. */
export const SAMPLES_SHARE_MIN = 0.25;
/** Share of the cache for the series of selectors; the rest is for what was decoded from segments. */
const BLOCKS_SHARE = 0.5;
/** Cost of reading a label value, in units of reading one number. */
const VALUE_WORK = 32;

/** Reports whether PromQL can read the table. */
function isRead(table: Table): boolean {
  return sampleFields(table).length > 0;
}

/** One query's view of a database. Each table is opened at its first use and fixed from then on. */
class OpenDatabase implements DatabaseSamples {
  readonly #tables: readonly Table[];
  readonly #store: SampleStore;
  readonly #call: Call;
  readonly #slot: AdmissionSlot;
  readonly #count: SampleCount;
  readonly #opened = new Map<number, Promise<TableSamples>>();
  readonly #nowNs: bigint;
  #isClosed = false;

  constructor(
    tables: readonly Table[],
    store: SampleStore,
    { call, slot, count }: { call: Call; slot: AdmissionSlot; count: SampleCount },
  ) {
    this.#tables = tables;
    this.#store = store;
    this.#call = call;
    this.#slot = slot;
    this.#count = count;
    this.#nowNs = store.clock.nowNs();
  }

  async select(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): Promise<readonly SampleSeries[]> {
    const found: (readonly SampleSeries[])[] = [];
    for (const table of await this.#tablesFor(matchers)) {
      const series = await this.#retrying(table, (samples) => samples.select(matchers, fromMs, toMs, this.#call));
      if (series.length > 0) found.push(series);
    }
    return found.length === 1 ? found[0] : found.flat();
  }

  async selectAround(
    matchers: readonly LabelMatcher[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly SampleSeries[]> {
    const found: (readonly SampleSeries[])[] = [];
    for (const table of await this.#tablesFor(matchers)) {
      const series = await this.#retrying(table, (samples) => samples.selectAround(matchers, fromMs, toMs, this.#call));
      if (series.length > 0) found.push(series);
    }
    return found.length === 1 ? found[0] : found.flat();
  }

  async state(matcherSets: readonly (readonly LabelMatcher[])[]): Promise<DatabaseState> {
    const states = new Map<number, TableState>();
    for (const matchers of matcherSets) {
      for (const table of await this.#tablesFor(matchers)) {
        if (!states.has(table.tableId)) states.set(table.tableId, (await this.#samples(table)).state);
      }
    }
    return states;
  }

  stored(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): AsyncIterable<StoredSeries> {
    const { clock } = this.#store;
    const locations = async (): Promise<SeriesLocation[]> => {
      const found: SeriesLocation[] = [];
      for (const table of await this.#tablesFor(matchers)) {
        for await (const batch of (await this.#samples(table)).locations(matchers, this.#call)) {
          for (const location of batch) found.push(location);
        }
      }
      return found;
    };
    const refresh = async (): Promise<void> => {
      for (const table of await this.#tablesFor(matchers)) await this.#renewed(table);
    };
    return storedSeries({ locations, refresh, range: { fromMs, toMs }, clock, call: this.#call });
  }

  async labelNames(query: SeriesQuery): Promise<readonly string[]> {
    const names = new Set<string>();
    await this.#eachTable(query, async (samples, matchers) => {
      for (const name of await samples.labelNames(matchers, query, this.#call)) names.add(name);
    });
    return [...names].sort(compareBytes);
  }

  async labelValues(name: string, query: SeriesQuery): Promise<readonly string[]> {
    const values = new Set<string>();
    if (name === FIELD_LABEL) {
      // Series have this label only if several fields match.
      const add = (field: string): unknown => values.add(field);
      await this.#eachTable(query, async (samples, matchers) => {
        (await samples.fieldNames(matchers, query, this.#call)).forEach(add);
      });
      return [...values].sort(compareBytes);
    }
    const slices = this.#slices;
    await this.#eachTable(query, async (samples, matchers) => {
      await addAll(values, await samples.labelValues(name, matchers, query, this.#call), slices);
    });
    return sortedInSlices([...values], compareBytes, slices);
  }

  async series(query: SeriesQuery): Promise<readonly Labels[]> {
    const found = new Set<Labels>();
    await this.#each(query, (labels) => found.add(labels));
    const sorted = await sortedInSlices([...found], compareLabels, this.#slices);
    // Labels that the cache dropped in between are distinct objects.
    return sorted.filter((labels, i) => i === 0 || compareLabels(sorted[i - 1], labels) !== 0);
  }

  async facts(limit: number): Promise<SeriesFacts> {
    const byName = new Map<string, Map<string, number>>();
    const add = (name: string, value: string, count: number): void => {
      const counts = byName.get(name) ?? new Map<string, number>();
      byName.set(name, counts);
      counts.set(value, (counts.get(value) ?? 0) + count);
    };
    const slices = this.#slices;
    let seriesCount = 0;
    for (const table of this.#tables.filter((it) => !isAppendOnly(it))) {
      const samples = await this.#samples(table);
      seriesCount += samples.seriesCount;
      for (const { name, value, count } of samples.values()) {
        add(name, value, count);
        if (slices.isOver(VALUE_WORK)) await slices.yield();
      }
      if (!isMetricTable(table) && samples.seriesCount > 0) add(METRIC_NAME, table.name, samples.seriesCount);
    }
    const [metrics, sizes, bytes, pairs] = Array.from({ length: 4 }, () => new LargestCounts(limit));
    let labelPairCount = 0;
    for (const [name, counts] of byName) {
      let nameBytes = 0;
      for (const [value, count] of counts) {
        nameBytes += value.length;
        if (name === METRIC_NAME) metrics.add(value, count);
        pairs.add(`${name}=${value}`, count);
        if (slices.isOver(VALUE_WORK)) await slices.yield();
      }
      labelPairCount += counts.size;
      sizes.add(name, counts.size);
      bytes.add(name, nameBytes);
    }
    return {
      seriesCount,
      labelPairCount,
      seriesCountByMetricName: metrics.counts,
      labelValueCountByLabelName: sizes.counts,
      memoryInBytesByLabelName: bytes.counts,
      seriesCountByLabelValuePair: pairs.counts,
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const opened of this.#opened.values()) {
      opened.then(
        (samples) => samples.release(),
        () => undefined,
      );
    }
    this.#opened.clear();
  }

  /** Returns the tables that can have matching series: an ordinary table is one metric. */
  async #tablesFor(matchers: readonly LabelMatcher[]): Promise<readonly Table[]> {
    if (this.#tables.every(isMetricTable)) return this.#tables;
    const tests = matchers.filter(({ name }) => name === METRIC_NAME).map((matcher) => compileMatcher(matcher));
    const isNamed = matchers.some(({ name, op, value }) => name === METRIC_NAME && op === '=' && value !== '');
    // Logs and traces are read only by name and are not part of searches.
    const ordinary = this.#tables.filter((table) => !isMetricTable(table) && (isNamed || !isAppendOnly(table)));
    const matching = new Set(await filterByTests(ordinary, ({ name }) => name, tests, this.#slices));
    return this.#tables.filter((table) => isMetricTable(table) || matching.has(table));
  }

  get #slices(): Slices {
    return new Slices(this.#store.clock, { check: () => checkCall(this.#call) });
  }

  async #each(query: SeriesQuery, visit: (labels: Labels) => void): Promise<void> {
    await this.#eachTable(query, (samples, matchers) => samples.labels(matchers, query, this.#call, visit));
  }

  async #eachTable(
    query: SeriesQuery,
    visit: (samples: TableSamples, matchers: readonly LabelMatcher[]) => Promise<void>,
  ): Promise<void> {
    const sets = query.matcherSets.length === 0 ? [[]] : query.matcherSets;
    for (const matchers of sets) {
      for (const table of await this.#tablesFor(matchers)) await visit(await this.#samples(table), matchers);
    }
  }

  /** Repeats the work once with current manifests if a file is missing. */
  async #retrying<T>(table: Table, work: (samples: TableSamples) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#samples(table));
    } catch (error) {
      if (!(error instanceof MissingFile)) throw error;
    }
    return work(await this.#renewed(table));
  }

  /** Reopens the table as of now. */
  async #renewed(table: Table): Promise<TableSamples> {
    const old = this.#opened.get(table.tableId);
    this.#opened.delete(table.tableId);
    (await old)?.release();
    await this.#slot.releaseWhile(() => this.#store.refresh(table, this.#call));
    return this.#samples(table);
  }

  async #samples(table: Table): Promise<TableSamples> {
    let opened = this.#opened.get(table.tableId);
    if (opened === undefined) {
      opened = this.#store.table(table, this.#call, { slot: this.#slot, nowNs: this.#nowNs, count: this.#count });
      this.#opened.set(table.tableId, opened);
    }
    const opening = opened;
    const samples = await this.#slot.releaseWhile(() => opening);
    if (this.#isClosed) throw new AlmanacError('cancelled', 'the query has ended');
    return samples;
  }
}
