import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, unlessAborted, type Call } from '#shared/contracts/call';
import type { Segment, Table } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

import type { SelectedSeries } from '../series/selected-series.js';
import type { FileColumns, SegmentFiles } from '../snapshot/segment-files.js';
import type { SampleColumns } from './sample-slice.js';
import { segmentQuery, type MillisRange, type RowSelection, type SidRange } from './segment-query.js';
import { decodeRows, type SlicesBySid } from './segment-rows.js';

/** Collaborators of an `EngineSamples`. */
export interface EngineSamplesDeps {
  readonly files: SegmentFiles;
  readonly connection: DuckDBConnection;
  readonly clock: Clock;
}

/** A request for rows of one segment. */
export interface EngineRequest extends SelectedSeries {
  readonly segment: Segment;
  readonly range: MillisRange;
  /** Whether the range covers the whole segment. */
  readonly isWhole: boolean;
  /** Positions of the series to read. */
  readonly positions: readonly number[];
}

/** Segments that one engine query reads. */
interface Batch<Request> {
  readonly columns: FileColumns;
  readonly segments: readonly Request[];
}

/** Limits of one engine query, which opens all its files and holds its rows in memory twice. */
const BATCH_FILES = 64;
const BATCH_ROWS = 4 * 1024 * 1024;

/** Reads samples of segments by queries of the engine, one at a time. */
export class EngineSamples {
  readonly #deps: EngineSamplesDeps;
  /** End of the last read: the connection runs one query at a time. */
  #reads: Promise<unknown> = Promise.resolve();

  constructor(deps: EngineSamplesDeps) {
    this.#deps = deps;
  }

  /** Reads rows of segments that were checked. @param add receives those of each segment. */
  async read<Request extends EngineRequest>(
    table: Table,
    requests: readonly Request[],
    columns: SampleColumns,
    { call, slot }: { readonly call: Call; readonly slot: AdmissionSlot },
    add: (request: Request, bySid: SlicesBySid) => Promise<void>,
  ): Promise<void> {
    const { files } = this.#deps;
    const all = requests.map(({ segment }) => segment);
    for (const batch of await files.readChecked(all, () => this.#batchesOf(requests), call.signal)) {
      await this.#exclusively(call, slot, async () => {
        const batchFiles = batch.segments.map(({ segment }) => segment);
        const read = await files.readChecked(batchFiles, () => this.#read(table, batch, columns, call), call.signal);
        for (const [i, bySid] of read.entries()) await add(batch.segments[i], bySid);
      });
      checkCall(call);
    }
  }

  /** Runs a read after all earlier reads. Releases the admission slot while waiting for them. */
  async #exclusively(call: Call, slot: AdmissionSlot, read: () => Promise<void>): Promise<void> {
    const before = this.#reads;
    let end = (): void => undefined;
    const own = new Promise<void>((resolve) => (end = resolve));
    this.#reads = before.then(() => own);
    try {
      await slot.releaseWhile(() => unlessAborted(call, before));
      await read();
    } finally {
      end();
    }
  }

  /** Groups segments for engine queries: segments of a batch have the same columns, and a limited number of rows. */
  async #batchesOf<Request extends EngineRequest>(requests: readonly Request[]): Promise<Batch<Request>[]> {
    const batches: Batch<Request>[] = [];
    const open = new Map<FileColumns, { segments: Request[]; rowsMax: number }>();
    for (const one of requests) {
      const columns = await this.#deps.files.columnsOf(one.segment);
      const { rowCount } = one.segment;
      let batch = open.get(columns);
      if (batch === undefined || batch.rowsMax + rowCount > BATCH_ROWS || batch.segments.length === BATCH_FILES) {
        batch = { segments: [], rowsMax: 0 };
        open.set(columns, batch);
        batches.push({ columns, segments: batch.segments });
      }
      batch.segments.push(one);
      batch.rowsMax += rowCount;
    }
    return batches;
  }

  async #read(
    table: Table,
    { columns: names, segments }: Batch<EngineRequest>,
    columns: SampleColumns,
    call: Call,
  ): Promise<SlicesBySid[]> {
    const check = (): void => checkCall(call);
    check();
    const { files, connection, clock } = this.#deps;
    const isEarly = segments.some(({ segment }) => segment.timeFirst < 0n);
    const query = segmentQuery(table, names, columns, isEarly);
    const paths = segments.map(({ segment }) => files.absolute(segment.path));
    const sql = query.sql({ paths, ...conditionsOf(segments) });
    const result = await connection.run(sql);
    return decodeRows(result, query, paths.length, new Slices(clock, { check }));
  }
}

/** Returns conditions that cover the missing rows of all segments. */
function conditionsOf(segments: readonly EngineRequest[]): Omit<RowSelection, 'paths'> {
  const range = { fromMs: Infinity, toMs: -Infinity };
  for (const one of segments) {
    range.fromMs = Math.min(range.fromMs, one.range.fromMs);
    range.toMs = Math.max(range.toMs, one.range.toMs);
  }
  const isNumbered = segments.every(({ metrics }) => metrics !== undefined);
  const isMajority = segments.every((one) => one.isMajority && one.positions.length === one.sids.length);
  const isPart = segments.some((one) => one.isPart);
  return {
    sids: isNumbered && isMajority ? (isPart ? ends(segments) : undefined) : distinct(segments, ({ sids }) => sids),
    metrics: isNumbered ? distinct(segments, ({ metrics }) => metrics) : undefined,
    range: segments.every(({ isWhole }) => isWhole) ? undefined : range,
  };
}

/** Returns the range of the series numbers. */
function ends(segments: readonly EngineRequest[]): SidRange {
  return {
    first: Math.min(...segments.map(({ sids }) => sids[0])),
    last: Math.max(...segments.map(({ sids }) => sids[sids.length - 1])),
  };
}

/** Returns the distinct numbers of the series to read, ascending. */
function distinct(
  segments: readonly EngineRequest[],
  of: (segment: EngineRequest) => Int32Array | Uint32Array | undefined,
): number[] {
  const found = new Set<number>();
  for (const one of segments) {
    const numbers = of(one);
    if (numbers !== undefined) for (const at of one.positions) found.add(numbers[at]);
  }
  return [...Uint32Array.from(found).sort()];
}
