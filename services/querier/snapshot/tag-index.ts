import type { DuckDBConnection } from '#shared/duckdb/engine';
import { bytesSql, textAt } from '#shared/duckdb/text-bytes';

/** Series above which a value is not kept as a list: naming so many helps no query. */
export const MATCHES_MAX = 64;

/** What a value that too many series have maps to. */
const TOO_MANY: readonly number[] = [];

/**
 * Values of one tag -> numbers of the series that have it, for values of few series. It is filled at the first question
 * about the tag and then goes along with its table: a lookup costs no query of the engine, which would take 1 ms.
 */
export class TagIndex {
  readonly #relation: string;
  readonly #column: string;
  readonly #series = new Map<string, readonly number[] | number[]>();
  /** The least series of each value that too many have. */
  readonly #firstOfMany = new Map<string, number>();
  /** Series below this number are in it. */
  #count = 0;
  #filled: Promise<void> = Promise.resolve();

  constructor(relation: string, tagId: number) {
    this.#relation = relation;
    this.#column = `f${tagId}`;
  }

  /** Takes in the series up to `count`; resolves when they, and all that others asked for before, are in it. */
  reach(connection: DuckDBConnection, count: number): Promise<void> {
    if (this.#count < count) {
      const from = this.#count;
      this.#count = count;
      this.#filled = this.#filled.then(() => this.#fill(connection, from, count));
    }
    return this.#filled;
  }

  /** The series with one of the values, by number, with its value; undefined if they are too many to be named. */
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

  /** The least number of a series with each of the values that any series has. */
  firstOf(values: readonly string[]): number[] {
    return values.flatMap((value) => this.#firstOfMany.get(value) ?? this.#series.get(value)?.at(0) ?? []);
  }

  async #fill(connection: DuckDBConnection, from: number, to: number): Promise<void> {
    const range = `sid >= ${from} AND sid < ${to}`;
    const sql = `SELECT sid, ${bytesSql(this.#column)} FROM ${this.#relation} WHERE ${range} AND ${this.#column} IS NOT NULL`;
    const result = await connection.run(sql);
    // By chunks, between which others are served: there may be hundreds of thousands.
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return;
      const values = chunk.getColumnVector(1);
      for (const [row, sid] of chunk.getColumnValues(0).entries()) this.#add(textAt(values, row) ?? '', Number(sid));
    }
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
