import type { DuckDBConnection } from '#shared/duckdb/engine';

import { eachTagText } from './tag-texts.js';

/** Number of series above which a value's series are not listed: a filter by more series does not speed up a query. */
export const MATCHES_MAX = 64;

/** Marks a value that more series have. */
const TOO_MANY: readonly number[] = [];

/**
 * Index from the values of one tag to the series that have them, for values of few series. It is built at the first query
 * for the tag and updated with the table. A lookup runs no engine query, which would take 1 ms.
 */
export class TagIndex {
  readonly #relation: string;
  readonly #column: string;
  readonly #series = new Map<string, readonly number[] | number[]>();
  /** First series of each value with too many series. */
  readonly #firstOfMany = new Map<string, number>();
  /** Series below this number are indexed. */
  #count = 0;
  #filled: Promise<void> = Promise.resolve();

  constructor(relation: string, tagId: number) {
    this.#relation = relation;
    this.#column = `f${tagId}`;
  }

  /** Indexes the series up to `count`. Resolves when these, and the series of earlier calls, are indexed. */
  extendTo(connection: DuckDBConnection, count: number): Promise<void> {
    if (this.#count < count) {
      const from = this.#count;
      this.#count = count;
      this.#filled = this.#filled.then(() => this.#fill(connection, from, count));
    }
    return this.#filled;
  }

  /** Returns the series that have one of the values, with the value of each; undefined if there are too many. */
  find(values: readonly string[]): ReadonlyMap<number, string> | undefined {
    const found = new Map<number, string>();
    for (const value of values) {
      const sids = this.#series.get(value);
      if (sids === TOO_MANY) return undefined;
      if (sids === undefined) continue;
      for (const sid of sids) found.set(sid, value);
      if (found.size > MATCHES_MAX) return undefined;
    }
    return found;
  }

  /** Returns the lowest series number of each value that occurs. */
  firstOf(values: readonly string[]): number[] {
    return values.flatMap((value) => this.#firstOfMany.get(value) ?? this.#series.get(value)?.at(0) ?? []);
  }

  async #fill(connection: DuckDBConnection, from: number, to: number): Promise<void> {
    const source = { relation: this.#relation, column: this.#column, from, to };
    await eachTagText(connection, source, (text, sid) => this.#add(text, sid));
  }

  #add(value: string, sid: number): void {
    const sids = this.#series.get(value);
    if (sids === undefined) this.#series.set(value, [sid]);
    else if (sids === TOO_MANY) return;
    else if (sids.length < MATCHES_MAX) (sids as number[]).push(sid);
    else {
      this.#series.set(value, TOO_MANY);
      this.#firstOfMany.set(value, sids[0]);
    }
  }
}
