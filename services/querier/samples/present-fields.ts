import { LRUCache } from 'lru-cache';

import type { Segment } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { METRIC, SID } from '#shared/schema/segment-columns';

import type { SegmentFiles } from '../snapshot/segment-files.js';
import { selectedIn, type SelectedSeries } from '../series/selected-series.js';
import { isOneOfSql } from './segment-query.js';

export interface PresentFieldsDeps {
  readonly files: SegmentFiles;
  readonly connection: DuckDBConnection;
}

/** Series which are looked for one by one; of more only the first and the last number is. */
const SIDS_MAX = 1000;
const ANSWERS_MAX = 100_000;

/** Whether series have a value of a field in segments. Segments do not change, so answers are kept. */
export class PresentFields {
  readonly #deps: PresentFieldsDeps;
  readonly #answers = new LRUCache<string, boolean>({ max: ANSWERS_MAX });
  /** The engine's connection takes one question at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: PresentFieldsDeps) {
    this.#deps = deps;
  }

  /**
   * @param series all of one metric.
   * @param name of the series: the same stands for the same series, or for more of them later.
   */
  async has(segments: readonly Segment[], series: SelectedSeries, name: string, columnId: number): Promise<boolean> {
    const { files } = this.#deps;
    for (const segment of segments) {
      const own = selectedIn(segment, series);
      if (own.sids.length === 0) continue;
      await files.check([segment]);
      const key = `${segment.path} ${columnId} ${name}`;
      let answer = this.#answers.get(key);
      if (answer === undefined) {
        const turn = this.#turn.then(() => files.reading([segment], () => this.#read(segment, own, columnId)));
        this.#turn = turn.catch(() => undefined);
        answer = await turn;
        this.#answers.set(key, answer);
      }
      if (answer) return true;
    }
    return false;
  }

  async #read(segment: Segment, { sids, metrics }: SelectedSeries, columnId: number): Promise<boolean> {
    const { files, connection } = this.#deps;
    const column = (await files.columnsOf(segment)).get(columnId);
    if (column === undefined) return false;
    const between = `${SID} BETWEEN ${sids[0]} AND ${sids[sids.length - 1]}`;
    const named = sids.length <= SIDS_MAX ? isOneOfSql(SID, [...sids]) : between;
    const series = metrics === undefined ? named : isOneOfSql(METRIC, [metrics[0]]);
    const from = `read_parquet(${quoteText(files.absolute(segment.path))})`;
    const sql = `SELECT 1 FROM ${from} WHERE ${series} AND ${quoteName(column)} IS NOT NULL LIMIT 1`;
    return (await (await connection.run(sql)).getRows()).length > 0;
  }
}
