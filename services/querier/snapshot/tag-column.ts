import type { DuckDBConnection } from '#shared/duckdb/engine';

import { eachTagText } from './tag-texts.js';

/** The values of one tag of all series, by number. It is filled at the first use and updated with the table of the series. */
export class TagColumn {
  /** Each value that occurs, once. */
  readonly values: string[] = [];
  readonly #relation: string;
  readonly #column: string;
  readonly #numbers = new Map<string, number>();
  #ofSeries = new Int32Array(0);
  /** Series below this number are filled in. */
  #count = 0;
  #filled: Promise<void> = Promise.resolve();

  constructor(relation: string, tagId: number) {
    this.#relation = relation;
    this.#column = `f${tagId}`;
  }

  /** Position in `values` by series number; -1: the series does not have the tag. Elements of new series are added only. */
  get ofSeries(): Int32Array {
    return this.#ofSeries;
  }

  /** Returns the position of a value; undefined if no series has it. */
  numberOf(value: string): number | undefined {
    return this.#numbers.get(value);
  }

  /** Fills in the series up to `count`. Resolves when these, and the series of earlier calls, are filled in. */
  extendTo(connection: DuckDBConnection, count: number): Promise<void> {
    if (this.#count < count) {
      const from = this.#count;
      this.#count = count;
      this.#filled = this.#filled.then(() => this.#fill(connection, from, count));
    }
    return this.#filled;
  }

  async #fill(connection: DuckDBConnection, from: number, to: number): Promise<void> {
    if (this.#ofSeries.length < to) {
      const grown = new Int32Array(Math.max(to, this.#ofSeries.length * 2)).fill(-1);
      grown.set(this.#ofSeries);
      this.#ofSeries = grown;
    }
    const source = { relation: this.#relation, column: this.#column, from, to };
    await eachTagText(connection, source, (text, sid) => (this.#ofSeries[sid] = this.#numbered(text)));
  }

  #numbered(value: string): number {
    let number = this.#numbers.get(value);
    if (number === undefined) {
      number = this.values.length;
      this.values.push(value);
      this.#numbers.set(value, number);
    }
    return number;
  }
}
