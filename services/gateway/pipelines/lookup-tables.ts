import { LRUCache } from 'lru-cache';

import type { Clock } from '#shared/clock/clock';
import { ownCall, unlessAborted, type Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { requestError } from './build-error.js';
import type { PipelineValue } from './values/value.js';

/** Tables that are loaded, and the memory of all of them; the least recently used one is removed first. */
const LOADED_MAX = 100;
const LOADED_BYTES_MAX = 256 * 1024 * 1024;
/** Tables that compiled pipelines name. */
const NAMED_MAX = 1_000;
const LOAD_MS_MAX = 30_000;

/** What `lookup` reads of a table. */
export interface LookupSpec {
  readonly database: string;
  readonly table: string;
  /** Columns that an item is compared with. */
  readonly keys: readonly string[];
  /** Columns that are added to an item. */
  readonly added: readonly string[];
  readonly refreshMs: number;
}

/** Rows of a table in memory: the values to add by the key of `lookupKey`. */
export interface LookupRows {
  readonly byKey: ReadonlyMap<string, readonly PipelineValue[]>;
  /** Approximate size in memory. */
  readonly bytes: number;
}

/** Reads the rows of a table. @throws any error of the query, and `invalid_arguments` if there are too many rows. */
export type LookupSource = (spec: LookupSpec, call: Call) => Promise<LookupRows>;

/** What lookups use of the process. */
export interface LookupDeps {
  readonly source: LookupSource;
  readonly clock: Clock;
  /** Reports a refresh that failed; the rows from before stay. */
  readonly refreshFailed: (table: string, error: AlmanacError) => void;
}

/** Returns the values of the columns that an item is compared with as one text. */
export function lookupKey(values: readonly string[]): string {
  return values.length === 1 ? values[0] : values.map((value) => `${value.length}:${value}`).join('');
}

/** The tables that pipelines look up, in bounded memory. */
export class LookupTables {
  readonly #deps: LookupDeps;
  readonly #named = new LRUCache<string, LookupTable>({ max: NAMED_MAX });
  readonly #loaded = new LRUCache<LookupTable, LookupRows>({
    max: LOADED_MAX,
    maxSize: LOADED_BYTES_MAX,
    sizeCalculation: ({ bytes }) => bytes + 1,
    dispose: (_rows, table, reason) => {
      if (reason === 'evict') table.unload();
    },
  });

  constructor(deps: LookupDeps) {
    this.#deps = deps;
  }

  /** Returns a table, which pipelines with equal options share. It is loaded by `prepare`. */
  table(spec: LookupSpec): LookupTable {
    const name = JSON.stringify(spec);
    let table = this.#named.get(name);
    if (table === undefined) {
      table = new LookupTable(spec, this.#deps, (loaded, rows) => void this.#loaded.set(loaded, rows));
      this.#named.set(name, table);
    }
    return table;
  }

  /** Returns the seconds since the rows of each loaded table were read, by its name; the greatest of several. */
  ages(): ReadonlyMap<string, number> {
    const ages = new Map<string, number>();
    for (const table of this.#loaded.keys()) {
      ages.set(table.name, Math.max(ages.get(table.name) ?? 0, table.ageSeconds));
    }
    return ages;
  }
}

/** A table whose rows are in memory. Once they are there, no item waits for newer ones. */
export class LookupTable {
  readonly name: string;
  readonly #spec: LookupSpec;
  readonly #deps: LookupDeps;
  readonly #onLoad: (table: LookupTable, rows: LookupRows) => void;
  #rows: LookupRows | undefined;
  #loadedMs = 0;
  #nextMs = 0;
  #loading: Promise<void> | undefined;

  constructor(spec: LookupSpec, deps: LookupDeps, onLoad: (table: LookupTable, rows: LookupRows) => void) {
    this.name = `${spec.database}.${spec.table}`;
    this.#spec = spec;
    this.#deps = deps;
    this.#onLoad = onLoad;
  }

  get ageSeconds(): number {
    return (this.#deps.clock.monotonicMs() - this.#loadedMs) / 1_000;
  }

  /**
   * Prepares a request: waits for the first load, or starts a refresh that is due.
   *
   * @throws any error of the first load.
   */
  async prepare(call: Call): Promise<void> {
    const isDue = this.#deps.clock.monotonicMs() >= this.#nextMs;
    if (this.#rows === undefined) return unlessAborted(call, this.#load());
    if (isDue) this.#load().catch((error: unknown) => this.#deps.refreshFailed(this.name, AlmanacError.from(error)));
  }

  /** Returns the values to add to an item; undefined if no row has the key. */
  find(key: string): readonly PipelineValue[] | undefined {
    if (this.#rows === undefined) throw requestError(`lookup table "${this.name}" was removed from memory: try again`);
    return this.#rows.byKey.get(key);
  }

  /** Releases the memory of the rows. */
  unload(): void {
    this.#rows = undefined;
  }

  /** Requests that need the same load share it. */
  #load(): Promise<void> {
    if (this.#loading === undefined) {
      this.#loading = this.#read().finally(() => (this.#loading = undefined));
      // A request that ended meanwhile does not notice a failure.
      this.#loading.catch(() => undefined);
    }
    return this.#loading;
  }

  async #read(): Promise<void> {
    const { clock, source } = this.#deps;
    const startMs = clock.monotonicMs();
    this.#nextMs = startMs + this.#spec.refreshMs;
    const call = { ...ownCall(`lookup ${this.name}`), deadlineMs: clock.nowMs() + LOAD_MS_MAX };
    const rows = await source(this.#spec, call);
    this.#rows = rows;
    this.#loadedMs = startMs;
    this.#onLoad(this, rows);
  }
}
