import { checkCall, unlessAborted, type Call } from '#shared/contracts/call';
import type { RegionInfo, RegionManifest, Table } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import type { Ingesters } from '#shared/discovery/ingesters';
import { AlmanacError } from '#shared/errors/almanac-error';

import { areEqualViews, FreshRows, type FreshRowsDeps, type RegionView } from './fresh-rows.js';
import type { RowsPart, SeriesRows } from './rows-layout.js';

/** What is known of tables without asking anybody; the catalog cache is one. */
export interface KnownTables {
  knownById(tableId: number): Table | undefined;
}

export interface TableRowsDeps<P extends RowsPart, S extends SeriesRows> extends FreshRowsDeps<P, S> {
  readonly catalog: KnownTables;
  readonly ingesters: Ingesters;
}

/** A region in one read of its table. */
interface RegionReading<P extends RowsPart, S extends SeriesRows> {
  readonly region: RegionInfo;
  readonly fresh: FreshRows<P, S>;
  /** By which its owner is asked. */
  manifest: RegionManifest;
  isWhole: boolean;
}

/** How long a read waits for regions to have an owner: a move or a start takes less. */
const OWNER_WAIT_MS = 5_000;
const OWNER_REST_MS = 20;
const OWNER_REST_MS_MAX = 250;

/** Answers "newer manifest" in a row before a read gives up; each means that a flush was committed meanwhile. */
const MANIFEST_TRIES = 8;

/** The unflushed rows of one table. Each owner is asked once a read, for all of its regions. */
export class TableRows<P extends RowsPart, S extends SeriesRows> {
  readonly #tableId: number;
  readonly #deps: TableRowsDeps<P, S>;
  readonly #regions = new Map<number, FreshRows<P, S>>();
  /** Reads come one after the other; the last one's end. */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** What the last read gave, held until another one gives something else. */
  #last: { readonly views: readonly RegionView<P, S>[]; isQuiet: boolean } | undefined;

  constructor(tableId: number, deps: TableRowsDeps<P, S>) {
    this.#tableId = tableId;
    this.#deps = deps;
  }

  /**
   * The regions of the table as of now, in the table's order; all that was acknowledged before the call is in them.
   * `release` of each must be called.
   *
   * A region that moves, or whose owner starts again, is waited for a little.
   *
   * @throws `region_not_ready` if nobody serves one of them then.
   */
  async view(table: Table, call: Call): Promise<RegionView<P, S>[]> {
    const { clock } = this.#deps;
    const untilMs = Math.min(call.deadlineMs, clock.nowMs() + OWNER_WAIT_MS);
    let before: AlmanacError | undefined;
    for (let restMs = OWNER_REST_MS; ; restMs = Math.min(restMs * 2, OWNER_REST_MS_MAX)) {
      try {
        return await this.#readInTurn(table, call);
      } catch (error) {
        const failure = AlmanacError.from(error);
        // Why it took so long says more than that it did.
        if (failure.code === 'deadline_exceeded' && before !== undefined) throw tooLate(table, before);
        if (failure.code !== 'region_not_ready' && failure.code !== 'external') throw error;
        if (clock.nowMs() + restMs >= untilMs) throw noOwner(table, failure);
        before = failure;
      }
      await clock.sleep(restMs, call.signal);
      checkCall(call);
    }
  }

  /**
   * The regions as they were last read, without asking anybody whether something is new by now; undefined unless nothing
   * was new then. `release` of each must be called.
   */
  lastView(): RegionView<P, S>[] | undefined {
    return this.#last?.isQuiet === true ? this.#last.views.map((view) => view.again()) : undefined;
  }

  /** Drops all, after the reads that have begun; views that are held keep theirs until they are released. */
  close(): Promise<void> {
    const closed = this.#turn.then(async () => {
      this.#isClosed = true;
      this.#keep([]);
      for (const fresh of this.#regions.values()) await fresh.close();
    });
    this.#turn = closed;
    return closed;
  }

  #keep(views: readonly RegionView<P, S>[]): void {
    const last = this.#last;
    if (last !== undefined && areAllEqual(last.views, views)) {
      last.isQuiet = true;
      return;
    }
    this.#last = { views: views.map((view) => view.again()), isQuiet: false };
    for (const view of last?.views ?? []) view.release();
  }

  #readInTurn(table: Table, call: Call): Promise<RegionView<P, S>[]> {
    const before = this.#turn;
    const turn = before.then(() => {
      checkCall(call);
      if (this.#isClosed) throw new AlmanacError('table_not_found', `table "${table.name}" was dropped`);
      return this.#read(table, call);
    });
    this.#turn = turn.catch(() => undefined);
    // The read before this one may hang at an owner that stands still, for longer than this one may take.
    return unlessAborted(call, before).then(() => turn);
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
      await this.#ask(table, readings, call);
      for (const reading of readings) if (reading.isWhole) whole.set(reading.region.regionId, reading);
      if (whole.size < regions.length) continue;
      const views = regions.flatMap(({ regionId }) => {
        const reading = whole.get(regionId);
        return reading === undefined ? [] : [reading.fresh.pinned(reading.manifest)];
      });
      this.#keep(views);
      return views;
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

  /** The regions as the catalog has them by now: one may have another owner than when the query was planned. */
  #regionsNow(table: Table): readonly RegionInfo[] {
    const now = this.#deps.catalog.knownById(this.#tableId);
    return table.regions.map((region) => now?.regions.find(({ regionId }) => regionId === region.regionId) ?? region);
  }

  #fresh(regionId: number): FreshRows<P, S> {
    let fresh = this.#regions.get(regionId);
    if (fresh === undefined) {
      fresh = new FreshRows(regionId, this.#deps);
      this.#regions.set(regionId, fresh);
    }
    return fresh;
  }

  /** Asks the owners of the regions, all at once. */
  async #ask(table: Table, readings: readonly RegionReading<P, S>[], call: Call): Promise<void> {
    const byOwner = new Map<IngesterService, RegionReading<P, S>[]>();
    for (const reading of readings) {
      const owner = this.#deps.ingesters.ownerOf(reading.region);
      const others = byOwner.get(owner);
      if (others === undefined) byOwner.set(owner, [reading]);
      else others.push(reading);
    }
    const outcomes = await Promise.allSettled(
      [...byOwner].map(([owner, ofOwner]) => this.#askOwner(owner, table, ofOwner, call)),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #askOwner(
    owner: IngesterService,
    table: Table,
    readings: readonly RegionReading<P, S>[],
    call: Call,
  ): Promise<void> {
    const regions = readings.map(({ region, fresh, manifest }) => fresh.question(manifest, region.epoch));
    const open = new Map(readings.map((reading) => [reading.region.regionId, reading]));
    for await (const { parts, incarnation } of owner.scan({ tableId: table.tableId, regions }, call)) {
      // Nothing of the answer counts; what comes may be long.
      if (await meetAll(open.values(), incarnation)) return;
      for (const part of parts) {
        const reading = open.get(part.regionId);
        if (reading === undefined) continue;
        const taken = await reading.fresh.take(table, part);
        reading.isWhole = taken === 'whole';
        if (taken !== 'more') open.delete(part.regionId);
      }
      if (open.size === 0) continue;
      // A first read may have gigabytes to take over; the process answers others meanwhile.
      await this.#deps.clock.yield();
      checkCall(call);
    }
    if (open.size > 0) throw endedEarly([...open.keys()]);
  }
}

export function areAllEqual<P extends RowsPart, S extends SeriesRows>(
  some: readonly RegionView<P, S>[],
  others: readonly RegionView<P, S>[],
): boolean {
  return some.length === others.length && some.every((view, i) => areEqualViews(view, others[i]));
}

/** One question more is enough for all regions of an owner that began a new life. @returns whether it did. */
async function meetAll<P extends RowsPart, S extends SeriesRows>(
  readings: Iterable<RegionReading<P, S>>,
  incarnation: bigint,
): Promise<boolean> {
  let isAnother = false;
  for (const { fresh } of readings) if (await fresh.meet(incarnation)) isAnother = true;
  return isAnother;
}

function endedEarly(regionIds: readonly number[]): AlmanacError {
  return new AlmanacError('region_not_ready', `the owner of region ${regionIds.join(', ')} ended its answer early`);
}

function tooLate({ name }: Table, cause: AlmanacError): AlmanacError {
  return new AlmanacError('deadline_exceeded', `table "${name}" cannot be read now: ${cause.message}`, { cause });
}

function noOwner({ name }: Table, cause: AlmanacError): AlmanacError {
  const { message } = cause;
  return new AlmanacError('region_not_ready', `table "${name}" cannot be read now: ${message}`, {
    cause,
    retryAfterSeconds: 1,
  });
}
