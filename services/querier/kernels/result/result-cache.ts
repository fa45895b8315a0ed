import { LRUCache } from 'lru-cache';

import type { Table } from '#shared/contracts/gen/common';
import type { TimeBounds } from '#shared/segments/bands';

/** Largest share of the cache for one result. */
const ENTRY_SHARE = 0.25;
/** Longer keys and values are those of queries with long lists, which are rarely repeated. */
const KEY_CHARS_MAX = 8192;
/** Memory of an entry apart from its key and its texts. */
const ENTRY_BYTES = 500;
/** Memory of an entry that is kept when its query runs for the first time: hardly more than it takes to know that it ran. */
const SMALL_BYTES = 8_192;
/** Memory of the version of a region. */
const VERSION_BYTES = 8;

/** What the result of a query depends on apart from its key. */
export interface ResultInput {
  /** Number of its plan. */
  readonly plan: number;
  /** Version of the catalog before the query was planned. While the catalog still has it, the plan is still right. */
  readonly catalogVersion: bigint;
  /** The tables that it reads; undefined: only planning finds out what it reads, and whether the caller may. */
  readonly tables: readonly Table[] | undefined;
  /** Values that the plan got and that do not follow from the key; empty if `tables` are known. */
  readonly values: string;
  /** Of the regions that it reads, in order. */
  readonly versions: readonly number[];
  /** Times that it reads. */
  readonly bounds: TimeBounds;
  /** Whether the times follow from the key: they do not depend on the clock. */
  readonly hasFixedTimes: boolean;
}

/** A query that ran before; `events` is undefined until its result is worth keeping. */
interface Entry<E> {
  readonly input: ResultInput;
  readonly events: readonly E[] | undefined;
  readonly bytes: number;
}

/** The place of one query's result in the cache. */
export interface ResultPlace<E> {
  /** The result, if the tables are as they were. */
  readonly events: readonly E[] | undefined;
  /** Notes a part of the result. @param eventBytes its memory */
  add(event: E, eventBytes: number): void;
  /** Keeps the result, which is complete. */
  keep(): void;
}

/** A result that is kept. */
export interface KnownResult<E> {
  readonly events: readonly E[];
  readonly plan: number;
  readonly tables: readonly Table[];
}

/** The state of what results depend on. */
export interface ResultState {
  readonly catalogVersion: bigint;
  /** Returns the versions of the regions that a query of tables would read; undefined if they are not known. */
  versionsOf(tables: readonly Table[]): readonly number[] | undefined;
}

/** Finds and keeps results of queries. */
export interface Results<E> {
  /**
   * Returns the result of a query that need not be planned again and whose times follow from its key, if that is kept.
   *
   * @param key everything that the result depends on, apart from the catalog, rows and times
   */
  known(key: string, state: ResultState): KnownResult<E> | undefined;
  /** Returns the place of a query's result; undefined if it is not kept. @param key as for `known` */
  placeOf(key: string, input: ResultInput): ResultPlace<E> | undefined;
  /** The same for queries that are to run in any case: it finds no result, but keeps theirs. */
  readonly unread: Results<E>;
}

/**
 * Results of queries, for as long as the rows of their tables are the same. A result that is not small is kept when its query
 * runs for the second time: most queries never do.
 */
export class ResultCache<E> implements Results<E> {
  readonly #entries: LRUCache<string, Entry<E>>;
  readonly #entryBytesMax: number;

  /** @param limitBytes 0: nothing is kept. */
  constructor(limitBytes: number) {
    this.#entryBytesMax = limitBytes * ENTRY_SHARE;
    const maxSize = Math.max(1, limitBytes);
    this.#entries = new LRUCache({ maxSize, sizeCalculation: ({ bytes }) => bytes });
  }

  get unread(): Results<E> {
    const unread: Results<E> = {
      known: () => undefined,
      placeOf: (key, input) =>
        this.#mayKeep(key, input.values) ? this.#place(key, input, this.#entries.get(key)?.input) : undefined,
      get unread() {
        return unread;
      },
    };
    return unread;
  }

  #mayKeep(key: string, values = ''): boolean {
    return Math.max(key.length, values.length) <= KEY_CHARS_MAX && this.#entryBytesMax >= ENTRY_BYTES;
  }

  known(key: string, state: ResultState): KnownResult<E> | undefined {
    const known = this.#mayKeep(key) ? this.#entries.get(key) : undefined;
    if (known?.events === undefined) return undefined;
    const { catalogVersion, tables, versions, hasFixedTimes, plan } = known.input;
    if (!hasFixedTimes || tables === undefined || catalogVersion !== state.catalogVersion) return undefined;
    const now = state.versionsOf(tables);
    return now !== undefined && areEqual(versions, now) ? { events: known.events, plan, tables } : undefined;
  }

  placeOf(key: string, input: ResultInput): ResultPlace<E> | undefined {
    if (!this.#mayKeep(key, input.values)) return undefined;
    const known = this.#entries.get(key);
    if (known?.events !== undefined && areSameInputs(known.input, input)) {
      if (known.input.catalogVersion !== input.catalogVersion) this.#entries.set(key, { ...known, input });
      return { events: known.events, add: () => undefined, keep: () => undefined };
    }
    return this.#place(key, input, known?.input);
  }

  /** Returns the place of a query that runs. @param last input of its last run; undefined: there was none */
  #place(key: string, input: ResultInput, last: ResultInput | undefined): ResultPlace<E> {
    const textBytes = 2 * (key.length + input.values.length);
    const emptyBytes = ENTRY_BYTES + textBytes + VERSION_BYTES * input.versions.length;
    const bytesMax = this.#bytesMax(last, input);
    let events: E[] | undefined = [];
    let bytes = emptyBytes;
    return {
      events: undefined,
      add: (event, eventBytes) => {
        bytes += eventBytes;
        if (bytes > bytesMax) events = undefined;
        events?.push(event);
      },
      keep: () => {
        const kept = events === undefined ? emptyBytes : bytes;
        this.#entries.set(key, { input, events, bytes: kept });
      },
    };
  }

  /** Returns how large a result may be that is kept. @param last input of the last run; undefined: there was none */
  #bytesMax(last: ResultInput | undefined, { bounds, hasFixedTimes }: ResultInput): number {
    if (last !== undefined && areSameBounds(last.bounds, bounds)) return this.#entryBytesMax;
    // Most times that depend on the clock are never those of a query again.
    return hasFixedTimes ? Math.min(SMALL_BYTES, this.#entryBytesMax) : 0;
  }
}

function areSameInputs(a: ResultInput, b: ResultInput): boolean {
  return (
    a.plan === b.plan && a.values === b.values && areSameBounds(a.bounds, b.bounds) && areEqual(a.versions, b.versions)
  );
}

function areSameBounds(a: TimeBounds, b: TimeBounds): boolean {
  return a.from === b.from && a.to === b.to;
}

function areEqual(some: readonly number[], others: readonly number[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false;
  return true;
}
