import { checkCall, unlessAborted, type Call } from '#shared/contracts/call';
import type { RegionInfo, RegionManifest, Table } from '#shared/contracts/gen/common';
import type { IngesterService, ScanRegion } from '#shared/contracts/gen/ingester';
import type { Ingesters } from '#shared/discovery/ingesters';
import { AlmanacError } from '#shared/errors/almanac-error';

import { areEqualViews, FreshRows, type FreshRowsDeps, type ReadsOfTable, type RegionView } from './fresh-rows.js';
import type { RowsPart, SeriesRows } from './rows-layout.js';

/** Lookup of tables without a call to the metadata service; implemented by the catalog cache. */
export interface KnownTables {
  knownById(tableId: number): Table | undefined;
}

/** Collaborators of a `TableRows`. */
export interface TableRowsDeps<P extends RowsPart, S extends SeriesRows> extends FreshRowsDeps<P, S> {
  readonly catalog: KnownTables;
  readonly ingesters: Ingesters;
}

/** State of a region during one read of its table. */
interface RegionReading<P extends RowsPart, S extends SeriesRows> {
  readonly region: RegionInfo;
  readonly fresh: FreshRows<P, S>;
  /** The manifest that the scan request refers to. */
  manifest: RegionManifest;
  isWhole: boolean;
}

/** Time that a read waits for regions to have an owner: longer than a move or a start of an owner takes. */
const OWNER_WAIT_MS = 5_000;
const OWNER_RETRY_MS = 20;
const OWNER_RETRY_MS_MAX = 250;

/** Attempts with a newer manifest before a read gives up. Each one means that a flush was committed meanwhile. */
const MANIFEST_TRIES = 8;

/** The unflushed rows of one table. A read sends one scan request to each owner, for all of its regions. */
export class TableRows<P extends RowsPart, S extends SeriesRows> {
  readonly #tableId: number;
  readonly #deps: TableRowsDeps<P, S>;
  readonly #regions = new Map<number, FreshRows<P, S>>();
  /** End of the last read: reads run one after the other. */
  #reads: Promise<unknown> = Promise.resolve();
  /** Reads that have not ended, and the closing. */
  #readCount = 0;
  #isClosed = false;
  #lastReadMs = 0;
  /** Views of the last read, held until a read returns different ones. */
  #last: { readonly views: readonly RegionView<P, S>[]; isQuiet: boolean } | undefined;

  constructor(tableId: number, deps: TableRowsDeps<P, S>) {
    this.#tableId = tableId;
    this.#deps = deps;
  }

  /**
   * Returns the current regions of the table, in the table's order, with all rows acknowledged before the call. The caller
   * must release each view.
   *
   * Waits up to 5 s for a region that moves or whose owner restarts.
   *
   * @throws `region_not_ready` when a region has no owner after that time
   */
  async view(table: Table, call: Call): Promise<RegionView<P, S>[]> {
    const now = this.viewNow(table);
    if (now !== undefined) return now;
    const { clock } = this.#deps;
    this.#lastReadMs = clock.monotonicMs();
    const untilMs = Math.min(call.deadlineMs, clock.nowMs() + OWNER_WAIT_MS);
    let before: AlmanacError | undefined;
    for (let restMs = OWNER_RETRY_MS; ; restMs = Math.min(restMs * 2, OWNER_RETRY_MS_MAX)) {
      try {
        return await this.#readAfterOthers(table, call);
      } catch (error) {
        const failure = AlmanacError.from(error);
        // The previous failure is the cause of the delay and tells the user more than the timeout.
        if (failure.code === 'deadline_exceeded' && before !== undefined) throw deadlineExceeded(table, before);
        if (failure.code !== 'region_not_ready' && failure.code !== 'external') throw error;
        if (clock.nowMs() + restMs >= untilMs) throw noOwner(table, failure);
        before = failure;
      }
      await clock.sleep(restMs, call.signal);
      checkCall(call);
    }
  }

  /**
   * Returns the regions as of the last read, without calling an owner; undefined unless that read found nothing new. The
   * caller must release each view.
   */
  lastView(): RegionView<P, S>[] | undefined {
    return this.#last?.isQuiet === true ? retained(this.#last.views) : undefined;
  }

  /**
   * Returns what `view` would return, if that is known without waiting: no row came since the last read. The caller must
   * release each view.
   */
  viewNow(table: Table): RegionView<P, S>[] | undefined {
    const views = this.#viewsNow(table);
    return views && retained(views);
  }

  /** Returns the versions of what `viewNow` would return. */
  versionsNow(table: Table): readonly number[] | undefined {
    return this.#viewsNow(table)?.map(({ version }) => version);
  }

  #viewsNow(table: Table): readonly RegionView<P, S>[] | undefined {
    const { ingesters } = this.#deps;
    const last = this.#readCount === 0 ? this.#last : undefined;
    if (last?.views.length !== table.regions.length) return undefined;
    const { views } = last;
    const requests: ScanRegion[] = [];
    const regions = this.#regionsNow(table);
    for (let i = 0; i < regions.length; i++) {
      const { regionId, epoch } = regions[i];
      const fresh = views[i].manifest.regionId === regionId ? this.#regions.get(regionId) : undefined;
      const request = fresh?.requestAfter(views[i], table, epoch);
      if (request === undefined) return undefined;
      requests.push(request);
    }
    if (ingesters.hasNothingNew?.({ tableId: this.#tableId, regions: requests }) !== true) return undefined;
    last.isQuiet = true;
    this.#lastReadMs = this.#deps.clock.monotonicMs();
    return views;
  }

  /** Drops the rows that the manifest of a region has, after the reads in progress. Later reads know the manifest. */
  noteFlush({ regionId, watermark }: RegionManifest): void {
    const fresh = this.#regions.get(regionId);
    if (fresh === undefined) return;
    this.#reads = this.#reads.then(async () => {
      if (this.#last?.views.some((view) => isOutdated(view, regionId, watermark)) === true) this.#forgetLast();
      await fresh.dropCovered(watermark);
    });
  }

  /** Resolves when the reads in progress, and what waits for them, have ended. */
  async settled(): Promise<void> {
    await this.#reads;
  }

  /** Drops all rows after the reads in progress. Views that are held keep theirs until they are released. */
  close(): Promise<void> {
    // Reads after this one wait for it.
    this.#readCount++;
    const closed = this.#reads.then(async () => {
      this.#isClosed = true;
      this.#forgetLast();
      for (const fresh of this.#regions.values()) await fresh.close();
    });
    this.#reads = closed;
    return closed;
  }

  /** Notes the views of a read. @returns those of the last read, if they are equal: they have the same versions. */
  #keep(views: RegionView<P, S>[]): RegionView<P, S>[] {
    const last = this.#last;
    if (last !== undefined && areAllEqual(last.views, views)) {
      last.isQuiet = true;
      for (const view of views) view.release();
      return retained(last.views);
    }
    this.#last = { views: retained(views), isQuiet: false };
    for (const view of last?.views ?? []) view.release();
    return views;
  }

  #forgetLast(): void {
    const last = this.#last;
    this.#last = undefined;
    for (const view of last?.views ?? []) view.release();
  }

  #readAfterOthers(table: Table, call: Call): Promise<RegionView<P, S>[]> {
    const before = this.#reads;
    const isBusy = this.#readCount > 0;
    const begin = async (): Promise<RegionView<P, S>[]> => {
      checkCall(call);
      if (this.#isClosed) throw new AlmanacError('table_not_found', `table "${table.name}" was dropped`);
      return this.#read(table, call);
    };
    this.#readCount++;
    const read = isBusy ? before.then(begin) : begin();
    const done = (): void => {
      this.#readCount--;
    };
    this.#reads = read.then(done, done);
    if (!isBusy) return read;
    // The previous read may hang at an unresponsive owner for longer than this call's deadline.
    return unlessAborted(call, before).then(() => read);
  }

  async #read(table: Table, call: Call): Promise<RegionView<P, S>[]> {
    const whole = new Map<number, RegionReading<P, S>>();
    const regions = this.#regionsNow(table);
    for (let attempt = 0; attempt < MANIFEST_TRIES; attempt++) {
      checkCall(call);
      const readings = await this.#prepare(
        table,
        regions.filter(({ regionId }) => !whole.has(regionId)),
      );
      await this.#scanOwners(table, readings, call);
      for (const reading of readings) if (reading.isWhole) whole.set(reading.region.regionId, reading);
      if (whole.size < regions.length) continue;
      const views = regions.flatMap(({ regionId }) => {
        const reading = whole.get(regionId);
        return reading === undefined ? [] : [reading.fresh.pinnedView(reading.manifest)];
      });
      return this.#keep(views);
    }
    throw new AlmanacError('region_not_ready', `table "${table.name}" changes too fast to be read`);
  }

  async #prepare(table: Table, regions: readonly RegionInfo[]): Promise<RegionReading<P, S>[]> {
    const readings: RegionReading<P, S>[] = [];
    for (const region of regions) {
      const fresh = this.#fresh(region.regionId);
      readings.push({ region, fresh, manifest: await fresh.prepare(table), isWhole: false });
    }
    return readings;
  }

  /** Returns the regions from the current catalog: an owner may have changed since the query was planned. */
  #regionsNow(table: Table): readonly RegionInfo[] {
    const now = this.#deps.catalog.knownById(this.#tableId);
    if (now === undefined || now.regions === table.regions) return table.regions;
    return table.regions.map((region) => now.regions.find(({ regionId }) => regionId === region.regionId) ?? region);
  }

  #fresh(regionId: number): FreshRows<P, S> {
    let fresh = this.#regions.get(regionId);
    if (fresh === undefined) {
      fresh = new FreshRows(regionId, this.#deps, this.#readState());
      this.#regions.set(regionId, fresh);
    }
    return fresh;
  }

  #readState(): ReadsOfTable {
    return {
      lastReadMs: () => this.#lastReadMs,
      isBusy: () => this.#readCount > 0,
      heldViews: () => this.#last?.views ?? [],
      releaseHeld: () => this.#forgetLast(),
    };
  }

  /** Sends scan requests to the owners of the regions, in parallel. */
  async #scanOwners(table: Table, readings: readonly RegionReading<P, S>[], call: Call): Promise<void> {
    const byOwner = new Map<IngesterService, RegionReading<P, S>[]>();
    for (const reading of readings) {
      const owner = this.#deps.ingesters.ownerOf(reading.region);
      const others = byOwner.get(owner);
      if (others === undefined) byOwner.set(owner, [reading]);
      else others.push(reading);
    }
    const outcomes = await Promise.allSettled(
      [...byOwner].map(([owner, ofOwner]) => this.#scanOwner(owner, table, ofOwner, call)),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #scanOwner(
    owner: IngesterService,
    table: Table,
    readings: readonly RegionReading<P, S>[],
    call: Call,
  ): Promise<void> {
    const regions = readings.map(({ region, fresh, manifest }) => fresh.scanRequest(manifest, region.epoch));
    const open = new Map(readings.map((reading) => [reading.region.regionId, reading]));
    for await (const { parts, incarnation } of owner.scan({ tableId: table.tableId, regions }, call)) {
      // After a restart of the owner the rest of the response is useless.
      if (await checkIncarnations(open.values(), incarnation)) return;
      for (const part of parts) {
        const reading = open.get(part.regionId);
        if (reading === undefined) continue;
        const progress = await reading.fresh.apply(table, part);
        reading.isWhole = progress === 'whole';
        if (progress !== 'more') open.delete(part.regionId);
      }
      if (open.size === 0) continue;
      // A first read can transfer gigabytes.
      await this.#deps.clock.yield();
      checkCall(call);
    }
    if (open.size > 0) throw endedEarly([...open.keys()]);
  }
}

function retained<P extends RowsPart, S extends SeriesRows>(views: readonly RegionView<P, S>[]): RegionView<P, S>[] {
  const holds: RegionView<P, S>[] = [];
  for (const view of views) holds.push(view.retain());
  return holds;
}

/** Reports whether a view of a region has rows that its manifest has now. */
function isOutdated<P extends RowsPart, S extends SeriesRows>(
  { manifest, parts }: RegionView<P, S>,
  regionId: number,
  watermark: bigint,
): boolean {
  return manifest.regionId === regionId && parts.some(({ part }) => part.sequenceTo <= watermark);
}

/** Reports whether two lists of views have the same rows and series, region by region. */
export function areAllEqual<P extends RowsPart, S extends SeriesRows>(
  some: readonly RegionView<P, S>[],
  others: readonly RegionView<P, S>[],
): boolean {
  return some.length === others.length && some.every((view, i) => areEqualViews(view, others[i]));
}

/** Checks all regions of an owner at once, so that its restart costs one more request. @returns whether it restarted. */
async function checkIncarnations<P extends RowsPart, S extends SeriesRows>(
  readings: Iterable<RegionReading<P, S>>,
  incarnation: bigint,
): Promise<boolean> {
  let isAnother = false;
  for (const { fresh } of readings) if (await fresh.checkIncarnation(incarnation)) isAnother = true;
  return isAnother;
}

function endedEarly(regionIds: readonly number[]): AlmanacError {
  return new AlmanacError(
    'region_not_ready',
    `the owner of regions ${regionIds.join(', ')} sent an incomplete response: try again`,
  );
}

function deadlineExceeded({ name }: Table, cause: AlmanacError): AlmanacError {
  return new AlmanacError('deadline_exceeded', `table "${name}" cannot be read now: ${cause.message}`, { cause });
}

function noOwner({ name }: Table, cause: AlmanacError): AlmanacError {
  const { message } = cause;
  return new AlmanacError('region_not_ready', `table "${name}" cannot be read now: ${message}`, {
    cause,
    retryAfterSeconds: 1,
  });
}
