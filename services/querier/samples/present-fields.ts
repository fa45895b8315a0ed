import { LRUCache } from 'lru-cache';

import type { Segment } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { FILE_COLUMNS_ONLY } from '#shared/duckdb/file-columns';
import { quoteText } from '#shared/duckdb/quote';
import { isPresentSql, storedField } from '#shared/duckdb/scaled-columns';
import { METRIC, SID } from '#shared/schema/segment-columns';

import type { SegmentFiles } from '../snapshot/segment-files.js';
import { selectedIn, type SelectedSeries } from '../series/selected-series.js';
import { isOneOfSql } from './segment-query.js';

/** Collaborators of a `PresentFields`. */
export interface PresentFieldsDeps {
  readonly files: SegmentFiles;
  readonly connection: DuckDBConnection;
}

/** Number of series up to which a query lists them; above it, the query uses the range of their numbers. */
const SIDS_MAX = 1000;
const RESULTS_MAX = 100_000;

/** Determines whether series have a value of a field in segments. Segments are immutable, so results are cached. */
export class PresentFields {
  readonly #deps: PresentFieldsDeps;
  /** With sizes, since room for a number of entries would be taken at once. */
  readonly #results = new LRUCache<string, boolean>({ maxSize: RESULTS_MAX, sizeCalculation: () => 1 });
  /** End of the last read: the connection runs one query at a time. */
  #reads: Promise<unknown> = Promise.resolve();

  constructor(deps: PresentFieldsDeps) {
    this.#deps = deps;
  }

  /**
   * Reports whether one of the series has a value of the column in one of the segments.
   *
   * @param series all series of one metric
   * @param name cache key of the series: an equal name means the same series, or later a superset
   */
  async has(segments: readonly Segment[], series: SelectedSeries, name: string, columnId: number): Promise<boolean> {
    const { files } = this.#deps;
    for (const segment of segments) {
      const own = selectedIn(segment, series);
      if (own.sids.length === 0) continue;
      await files.check([segment]);
      const key = `${segment.path} ${columnId} ${name}`;
      let result = this.#results.get(key);
      if (result === undefined) {
        const read = this.#reads.then(() => files.readChecked([segment], () => this.#read(segment, own, columnId)));
        this.#reads = read.catch(() => undefined);
        result = await read;
        this.#results.set(key, result);
      }
      if (result) return true;
    }
    return false;
  }

  async #read(segment: Segment, { sids, metrics }: SelectedSeries, columnId: number): Promise<boolean> {
    const { files, connection } = this.#deps;
    const field = storedField(await files.columnsOf(segment), columnId);
    if (field === undefined) return false;
    const between = `${SID} BETWEEN ${sids[0]} AND ${sids[sids.length - 1]}`;
    const named = sids.length <= SIDS_MAX ? isOneOfSql(SID, [...sids]) : between;
    const series = metrics === undefined ? named : isOneOfSql(METRIC, [metrics[0]]);
    const from = `read_parquet(${quoteText(files.absolute(segment.path))}, ${FILE_COLUMNS_ONLY})`;
    const sql = `SELECT 1 FROM ${from} WHERE ${series} AND ${isPresentSql(field)} LIMIT 1`;
    return (await (await connection.run(sql)).getRows()).length > 0;
  }
}
