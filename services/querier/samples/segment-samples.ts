import type { Segment, Table } from '#shared/contracts/gen/common';
import { copyDoubles, copyIntegers, markNulls } from '#shared/duckdb/typed-chunk';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { SID } from '#shared/schema/segment-columns';
import { timeIndexOf } from '#shared/schema/table-schema';

import type { SegmentFiles } from '../snapshot/segment-files.js';
import type { Piece, SampleColumns } from './piece.js';

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

const BYTES_PER_SERIES = 200;

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
    range: { readonly fromMs: number; readonly toMs: number },
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
    const turn = this.#turn.then(() => this.#load(table, segment, lacking, range, columns));
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

  async #load(
    table: Table,
    segment: Segment,
    sids: readonly number[],
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
    columns: SampleColumns,
  ): Promise<{ readonly bySid: ReadonlyMap<number, Piece>; readonly bytes: number }> {
    const { files, connection } = this.#deps;
    const names = await files.columnsOf(segment);
    const time = timeIndexOf(table);
    const unit = dataType(time.type).timeUnit ?? 'ns';
    const number = (id: number | undefined): string => {
      const name = id === undefined ? undefined : names.get(id);
      return name === undefined ? 'NULL::DOUBLE' : `${quoteName(name)}::DOUBLE`;
    };
    const histogram = columns.histogram === undefined ? undefined : names.get(columns.histogram);
    const start = columns.start === undefined ? undefined : names.get(columns.start);
    const timeName = quoteName(names.get(time.id) ?? time.name);
    const selected = [
      `${SID}::INTEGER`,
      `${millisSql(timeName, unit)}::DOUBLE AS t`,
      number(columns.value),
      ...(start === undefined ? [] : [`coalesce(${quoteName(start)}::DOUBLE, 0)`]),
      ...(histogram === undefined ? [] : [quoteName(histogram)]),
    ];
    const where = [`(${sidCondition(sids)})`];
    if (fromMs > Number.MIN_SAFE_INTEGER) where.push(`t >= ${fromMs}`);
    if (toMs < Number.MAX_SAFE_INTEGER) where.push(`t <= ${toMs}`);
    const sql = `SELECT ${selected.join(', ')} FROM read_parquet(${quoteText(files.absolute(segment.path))}) WHERE ${where.join(' AND ')}`;
    const result = await connection.run(sql);
    const chunks = await result.fetchAllChunks();
    const count = chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0);
    const rowSids = new Int32Array(count);
    const times = new Float64Array(count);
    const values = new Float64Array(count);
    const missing = new Uint8Array(count);
    const starts = start === undefined ? undefined : new Float64Array(count);
    const histograms = histogram === undefined ? undefined : new Array<Uint8Array | undefined>(count);
    let isMissing = false;
    let at = 0;
    for (const chunk of chunks) {
      if (chunk.rowCount === 0) continue;
      copyIntegers(chunk, 0, rowSids, at);
      copyDoubles(chunk, 1, times, at);
      copyDoubles(chunk, 2, values, at);
      if (markNulls(chunk, 2, missing, at)) isMissing = true;
      if (starts !== undefined) copyDoubles(chunk, 3, starts, at);
      if (histograms !== undefined) {
        const cells = chunk.getColumnValues(selected.length - 1);
        for (const [i, cell] of cells.entries()) histograms[at + i] = blobOf(cell);
      }
      at += chunk.rowCount;
    }
    const bySid = new Map<number, Piece>();
    for (let from = 0; from < count;) {
      const sid = rowSids[from];
      let to = from + 1;
      let isAscending = true;
      for (; to < count && rowSids[to] === sid; to++) if (times[to] <= times[to - 1]) isAscending = false;
      bySid.set(sid, {
        times: times.subarray(from, to),
        values: values.subarray(from, to),
        missing: isMissing ? missing.subarray(from, to) : undefined,
        histograms: histograms?.slice(from, to),
        starts: starts?.subarray(from, to),
        isAscending,
      });
      from = to;
    }
    let bytes = count * (20 + (starts === undefined ? 0 : 8) + 1) + sids.length * BYTES_PER_SERIES;
    for (const one of histograms ?? []) bytes += 16 + (one?.length ?? 0);
    return { bySid, bytes };
  }
}

function blobOf(cell: unknown): Uint8Array | undefined {
  if (cell === null || cell === undefined) return undefined;
  const { bytes } = cell as { readonly bytes: Uint8Array };
  return bytes.slice();
}

/** Times come back from Parquet as microseconds or nanoseconds. */
function millisSql(name: string, unit: TimeUnit): string {
  return unit === 'ns' ? `(epoch_ns(${name}) // 1000000)` : `(epoch_us(${name}) // 1000)`;
}

/** Runs of numbers as ranges where that is shorter. */
function sidCondition(sids: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const sid of sids) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === sid - 1) last[1] = sid;
    else ranges.push([sid, sid]);
  }
  if (ranges.length > RANGES_MAX) {
    // The engine prunes row groups by the ends.
    return `${SID} BETWEEN ${sids[0]} AND ${sids[sids.length - 1]} AND ${SID} IN (${sids.join(', ')})`;
  }
  return ranges
    .map(([from, to]) => (from === to ? `${SID} = ${from}` : `${SID} BETWEEN ${from} AND ${to}`))
    .join(' OR ');
}

const RANGES_MAX = 16;
