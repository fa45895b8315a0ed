import type { Call } from '#shared/contracts/call';
import { requireAccess } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

import type { VectorSelector } from '../../promql/syntax/ast.js';
import type { LabelMatcher } from '../../series/matcher.js';
import type { SeriesSource } from '../../promql/runtime/env.js';
import type { SampleSeries } from '../../promql/runtime/samples.js';
import type { DatabaseState } from '../../series/database-state.js';
import type { DatabaseSamples, SampleCount, SampleSources, StoredSeries } from '../../samples/sample-source.js';
import type { DatabaseStates } from './range-cache.js';

/** Options of the databases of a query. */
export interface DatabasesOptions {
  readonly sources: SampleSources;
  /** Database of selectors without a database label. */
  readonly session: string;
  readonly call: Call;
  /** Released while waiting for other processes, held while samples are decoded. */
  readonly slot: AdmissionSlot;
  readonly count: SampleCount;
}

/** Labels by which a selector names its database. */
export const DATABASE_LABELS: ReadonlySet<string> = new Set(['__database__', '__schema__']);

/** The database that a selector reads and its other matchers. */
export interface DatabaseSelector {
  readonly database: string;
  readonly matchers: readonly LabelMatcher[];
}

/** The databases of one query. Each is opened once, so that all parts of the query see the same rows. */
export class SessionDatabases implements SeriesSource {
  readonly #options: DatabasesOptions;
  readonly #opened = new Map<string, DatabaseSamples | undefined>();
  readonly #unknown = new Set<string>();

  constructor(options: DatabasesOptions) {
    this.#options = options;
  }

  /** Warnings about databases that do not exist. */
  get warnings(): readonly string[] {
    return Array.from(this.#unknown, (name) => `Database not found: ${name}`);
  }

  async select(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): Promise<readonly SampleSeries[]> {
    const { database, matchers: others } = this.resolveDatabase(matchers);
    return (await this.read(database, (samples) => samples.select(others, fromMs, toMs))) ?? [];
  }

  async selectAround(
    matchers: readonly LabelMatcher[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly SampleSeries[]> {
    const { database, matchers: others } = this.resolveDatabase(matchers);
    return (await this.read(database, (samples) => samples.selectAround(others, fromMs, toMs))) ?? [];
  }

  /** Reads the stored samples of series, one series at a time. */
  async *stored(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): AsyncIterable<StoredSeries> {
    const { database, matchers: others } = this.resolveDatabase(matchers);
    const samples = await this.releaseSlotWhile(() => this.#open(database));
    if (samples === undefined) return;
    yield* samples.stored(others, fromMs, toMs);
  }

  /** Splits off the matchers of database labels. @throws `invalid_syntax` if they are no equality matchers. */
  resolveDatabase(matchers: readonly LabelMatcher[]): DatabaseSelector {
    const naming = matchers.filter(({ name }) => DATABASE_LABELS.has(name));
    if (naming.length === 0) return { database: this.#options.session, matchers };
    for (const { name, op, value } of naming) {
      if (op === '=' && value !== '') continue;
      const text = `Invalid query: expected a non-empty equality matcher for '${name}'`;
      throw new AlmanacError('invalid_syntax', text);
    }
    const database = naming.at(-1)?.value ?? this.#options.session;
    return { database, matchers: matchers.filter((matcher) => !naming.includes(matcher)) };
  }

  /** Returns the state of the tables that the selectors read; undefined if a database does not exist. */
  async states(selectors: readonly VectorSelector[]): Promise<DatabaseStates | undefined> {
    const byDatabase = new Map<string, (readonly LabelMatcher[])[]>();
    for (const { matchers } of selectors) {
      const addressed = this.resolveDatabase(matchers);
      const others = byDatabase.get(addressed.database);
      if (others === undefined) byDatabase.set(addressed.database, [addressed.matchers]);
      else others.push(addressed.matchers);
    }
    const states = new Map<string, DatabaseState>();
    for (const [database, matcherSets] of byDatabase) {
      const state = await this.read(database, (samples) => samples.state(matcherSets));
      if (state === undefined) return undefined;
      states.set(database, state);
    }
    return states;
  }

  /** Waits for other processes with the admission slot released. */
  releaseSlotWhile<T>(work: () => Promise<T>): Promise<T> {
    return this.#options.slot.releaseWhile(work);
  }

  /** Reads from a database. @returns undefined if it does not exist. */
  async read<T>(database: string, read: (samples: DatabaseSamples) => Promise<T>): Promise<T | undefined> {
    const known = this.#opened.get(database);
    const samples = known ?? (await this.releaseSlotWhile(() => this.#open(database)));
    return samples === undefined ? undefined : read(samples);
  }

  close(): void {
    for (const samples of this.#opened.values()) samples?.close();
    this.#opened.clear();
  }

  async #open(database: string): Promise<DatabaseSamples | undefined> {
    const { sources, call, slot, count } = this.#options;
    requireAccess(call, 'read', database);
    if (this.#opened.has(database)) return this.#opened.get(database);
    try {
      const samples = await sources.open(database, call, slot, count);
      this.#opened.set(database, samples);
      return samples;
    } catch (error) {
      if (!(error instanceof AlmanacError) || error.code !== 'database_not_found') throw error;
      this.#unknown.add(database);
      this.#opened.set(database, undefined);
      return undefined;
    }
  }
}
