import type { Column } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { bytesSql, textIn } from '#shared/duckdb/text-bytes';
import { dataType } from '#shared/schema/data-type';

import { MATCHES_MAX } from './tag-index.js';

/** Metric names whose first series is cached. */
const KNOWN_MAX = 10_000;

/** Series that a query selects by tag values. */
export interface NamedSeries {
  /** Series numbers, ascending. */
  readonly sids: readonly number[];
  /** Value of each series, in the same order, by tag column ID; only for tags that the query filters by. */
  readonly values: ReadonlyMap<number, readonly string[]>;
}

/** Finds series by tags in series files, for tables with too many series for an index in memory. */
export class SeriesSearch {
  readonly #tags: ReadonlyMap<number, Column>;
  /** First series by metric name. Series are only appended, so it never changes. */
  readonly #firsts = new Map<string, number>();

  constructor(tags: readonly Column[]) {
    this.#tags = new Map(tags.map((tag) => [tag.id, tag]));
  }

  /**
   * Returns the series that have one of the values of each tag; undefined if there are too many to list.
   *
   * @param relation SQL of all series
   */
  async matching(
    connection: DuckDBConnection,
    relation: string,
    tagValues: ReadonlyMap<number, readonly string[]>,
  ): Promise<NamedSeries | undefined> {
    const tagIds = [...tagValues.keys()].filter((id) => this.#tags.has(id));
    if (tagIds.length === 0) return undefined;
    const conditions = tagIds.map((id) => `${this.#text(id)} IN (${listOf(tagValues.get(id) ?? [])})`);
    const columns = ['sid', ...tagIds.map((id) => bytesSql(this.#text(id)))].join(', ');
    const found = `SELECT ${columns} FROM ${relation} WHERE ${conditions.join(' AND ')} LIMIT ${MATCHES_MAX + 1}`;
    const rows = (await (await connection.run(found)).getRows()).sort((a, b) => Number(a[0]) - Number(b[0]));
    if (rows.length > MATCHES_MAX) return undefined;
    const values = tagIds.map((id, i): [number, string[]] => [id, rows.map((row) => textIn(row[i + 1]))]);
    return { sids: rows.map(([sid]) => Number(sid)), values: new Map(values) };
  }

  /** Returns the lowest series number of each value that occurs. */
  async firstOf(
    connection: DuckDBConnection,
    relation: string,
    tagId: number,
    values: readonly string[],
  ): Promise<number[]> {
    if (this.#firsts.size > KNOWN_MAX) this.#firsts.clear();
    // A local copy, because a concurrent query may clear the cache.
    const firsts = new Map<string, number>();
    for (const value of values) {
      const sid = this.#firsts.get(value);
      if (sid !== undefined) firsts.set(value, sid);
    }
    const unknown = values.filter((value) => !firsts.has(value));
    if (unknown.length > 0) {
      const text = this.#text(tagId);
      const matching = `SELECT ${text} AS text, sid FROM ${relation} WHERE ${text} IN (${listOf(unknown)})`;
      const found = `SELECT ${bytesSql('text')}, min(sid) FROM (${matching}) GROUP BY text`;
      for (const [value, sid] of await (await connection.run(found)).getRows()) {
        firsts.set(textIn(value), Number(sid));
        this.#firsts.set(textIn(value), Number(sid));
      }
    }
    return values.flatMap((value) => firsts.get(value) ?? []);
  }

  /** Avoids the cast for text columns, because the engine prunes row groups only without one. */
  #text(tagId: number): string {
    const type = this.#tags.get(tagId)?.type;
    const isText = type !== undefined && dataType(type).duckdb === 'VARCHAR';
    return isText ? `f${tagId}` : `f${tagId}::VARCHAR`;
  }
}

function listOf(values: readonly string[]): string {
  return values.length === 0 ? 'NULL' : values.map((value) => quoteText(value)).join(', ');
}
