import type { Clock } from '#shared/clock/clock';
import { checkCall, type Call } from '#shared/contracts/call';
import type { QuerierService, TailPositions } from '#shared/contracts/gen/querier';
import type { Rights } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import { resultFormatNamed } from '#shared/formats/registry';

import { parseRowBlock, type SqlRow } from '../sql-rows.js';

/** What a tail reads, and with what. */
export interface TailTarget {
  readonly querier: QuerierService;
  readonly clock: Clock;
  readonly database: string;
  readonly call: Call;
  /** Returns the rights of the user before each read: they may change while the tail is open. */
  readonly currentRights: () => Promise<Rights | undefined>;
}

/** Rows of one read. */
export interface TailRows {
  readonly rows: readonly SqlRow[];
  /** Some of the rows that are not among them, because there were too many at once. */
  readonly skipped: readonly SqlRow[];
  readonly skippedCount: number;
  /** Whether rows of earlier reads may be among them. */
  readonly mayRepeat: boolean;
}

/** Pause between two reads: a row is delivered well within a second after it was written. */
const POLL_MS = 200;
/** Rows of one read that are held in memory; more are skipped, and reported. */
const ROWS_MAX = 10_000;
/** Skipped rows that are reported one by one. */
const SKIPPED_MAX = 100;
/** A read that fails for a reason that passes is repeated this often. */
const TRIES = 25;

/**
 * Reads rows as they are written, whatever their times: by the sequences that ingesters give them.
 */
export class TailFeed {
  readonly #target: TailTarget;
  #positions: TailPositions | undefined;

  /** @param positions where an earlier feed has ended; undefined: `begin` must be called. */
  constructor(target: TailTarget, positions?: TailPositions) {
    this.#target = target;
    this.#positions = positions;
  }

  /** Where the feed is now. */
  get positions(): TailPositions {
    return this.#positions ?? { regions: [], mayRepeat: false };
  }

  /** Moves the feed to the end of a table. @param tableSql any SELECT of the table. */
  async begin(tableSql: string): Promise<void> {
    this.#positions = { regions: [], mayRepeat: false };
    await this.#read(`${tableSql} LIMIT 0`, this.#target.call);
  }

  /**
   * Reads the rows since the last call.
   *
   * @param statement returns the SQL; called right before the read, so that it has columns that were just added
   * @throws any error that does not pass
   */
  async next(statement: () => Promise<string>): Promise<TailRows> {
    const { call, clock, currentRights } = this.#target;
    for (let attempt = 1; ; attempt++) {
      await clock.sleep(POLL_MS, call.signal);
      checkCall(call);
      const rights = await currentRights();
      const before = this.positions;
      try {
        return await this.#read(await statement(), { ...call, rights });
      } catch (thrown) {
        const error = AlmanacError.from(thrown);
        this.#positions = before;
        // An owner may restart or move meanwhile.
        if (!error.retry || attempt === TRIES || call.signal.aborted) throw error;
      }
    }
  }

  async #read(sql: string, call: Call): Promise<TailRows> {
    const { querier, database } = this.#target;
    const format = resultFormatNamed('').names[0];
    const request = { sql, database, timezone: 'UTC', format, user: '', after: this.positions };
    const rows: SqlRow[] = [];
    const skipped: SqlRow[] = [];
    let skippedCount = 0;
    let mayRepeat = false;
    for await (const { text, positions } of querier.sql(request, { ...call, end: undefined })) {
      for (const row of text.length === 0 ? [] : parseRowBlock(text)) {
        if (rows.length < ROWS_MAX) rows.push(row);
        else if (skippedCount++ < SKIPPED_MAX) skipped.push(row);
      }
      if (positions === undefined) continue;
      this.#positions = merged(this.positions, positions);
      ({ mayRepeat } = positions);
    }
    return { rows, skipped, skippedCount, mayRepeat };
  }
}

/** Returns the new positions; regions that were not read keep theirs. */
function merged(before: TailPositions, read: TailPositions): TailPositions {
  const all = new Map(before.regions.map((it) => [it.regionId, it]));
  for (const region of read.regions) all.set(region.regionId, region);
  return { regions: [...all.values()], mayRepeat: false };
}

/** Rows whose keys are kept to recognise them. */
const KEPT_MAX = 50_000;

/** Recognises rows that were delivered before, among those that may have been: equal rows are counted. */
export class DeliveredRows {
  #recent = new Map<string, number>();
  #older: ReadonlyMap<string, number> = new Map();
  /** Rows of the current read by key. */
  #read = new Map<string, number>();

  /** Begins a read. */
  beginRead(): void {
    for (const [key, count] of this.#read) this.#note(key, count);
    this.#read = new Map();
  }

  /** Notes a row of the current read. Returns whether an earlier read had it, too. */
  isRepeated(key: string, mayRepeat: boolean): boolean {
    const before = mayRepeat ? (this.#recent.get(key) ?? this.#older.get(key) ?? 0) : 0;
    const count = (this.#read.get(key) ?? 0) + 1;
    this.#read.set(key, count);
    return count <= before;
  }

  #note(key: string, count: number): void {
    if (this.#recent.size >= KEPT_MAX) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, count + (this.#recent.get(key) ?? 0));
  }
}
