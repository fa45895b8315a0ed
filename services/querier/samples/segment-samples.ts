import type { Segment, Table } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';

import type { SegmentFiles } from '../snapshot/segment-files.js';
import type { Piece, SampleColumns } from './piece.js';
import { decodeRows, type DecodedRows } from './segment-rows.js';
import { segmentQuery, type MillisRange } from './segment-query.js';

export interface SegmentSamplesDeps {
  readonly files: SegmentFiles;
  readonly connection: DuckDBConnection;
  /** What decoded samples may take, of all tables. */
  readonly limitBytes: number;
}

/** What is known of a series in a segment: its rows in `[fromMs, toMs]`. */
interface Known {
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined: it has none there. */
  readonly piece: Piece | undefined;
  readonly load: Load;
}

/** What one question to the engine brought. */
interface Load {
  readonly bytes: number;
  readonly known: Map<number, Known>;
  readonly sids: readonly number[];
  usedAt: number;
}

/** Samples of segments, decoded, by series; those that were not asked for the longest go when there are too many. */
export class SegmentSamples {
  readonly #deps: SegmentSamplesDeps;
  /** By file and columns, then by series. */
  readonly #known = new Map<string, Map<number, Known>>();
  readonly #loads = new Set<Load>();
  #bytes = 0;
  #clock = 0;
  /** The engine's connection takes one question at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: SegmentSamplesDeps) {
    this.#deps = deps;
  }

  /**
   * Rows of series of a segment, at least those in `[fromMs, toMs]`; in the order of `sids`.
   *
   * @param segment a file that was checked.
   */
  async pieces(
    table: Table,
    segment: Segment,
    sids: Int32Array,
    range: MillisRange,
    columns: SampleColumns,
  ): Promise<(Piece | undefined)[]> {
    const key = `${segment.path} ${columns.value} ${columns.histogram ?? ''} ${columns.start ?? ''}`;
    let known = this.#known.get(key);
    if (known === undefined) {
      known = new Map();
      this.#known.set(key, known);
    }
    const ofSegment = known;
    const covers = (it: Known | undefined): it is Known =>
      it !== undefined && it.fromMs <= range.fromMs && it.toMs >= range.toMs;
    const now = ++this.#clock;
    const found = new Array<Piece | undefined>(sids.length);
    const lacking: number[] = [];
    for (let i = 0; i < sids.length; i++) {
      const it = ofSegment.get(sids[i]);
      if (!covers(it)) {
        lacking.push(sids[i]);
        continue;
      }
      it.load.usedAt = now;
      found[i] = it.piece;
    }
    if (lacking.length === 0) return found;
    const turn = this.#turn.then(() => this.#read(table, segment, lacking, range, columns));
    this.#turn = turn.catch(() => undefined);
    const loaded = await turn;
    const load: Load = { bytes: loaded.bytes, known: ofSegment, sids: lacking, usedAt: now };
    for (const sid of lacking) ofSegment.set(sid, { ...range, piece: loaded.bySid.get(sid), load });
    this.#add(load);
    for (let i = 0; i < sids.length; i++) found[i] ??= loaded.bySid.get(sids[i]);
    return found;
  }

  #add(load: Load): void {
    this.#loads.add(load);
    this.#bytes += load.bytes;
    if (this.#bytes <= this.#deps.limitBytes) return;
    const oldest = [...this.#loads].sort((a, b) => a.usedAt - b.usedAt);
    for (const it of oldest) {
      if (this.#bytes <= this.#deps.limitBytes / 2 || it === load) return;
      this.#loads.delete(it);
      this.#bytes -= it.bytes;
      for (const sid of it.sids) if (it.known.get(sid)?.load === it) it.known.delete(sid);
    }
  }

  async #read(
    table: Table,
    segment: Segment,
    sids: readonly number[],
    range: MillisRange,
    columns: SampleColumns,
  ): Promise<DecodedRows> {
    const { files, connection } = this.#deps;
    const query = segmentQuery(table, await files.columnsOf(segment), columns);
    const sql = query.sql(files.absolute(segment.path), sids, range);
    return decodeRows(await (await connection.run(sql)).fetchAllChunks(), query, sids.length);
  }
}
