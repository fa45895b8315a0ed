import { systemClock } from '#shared/clock/clock';
import type { RegionInfo } from '#shared/contracts/gen/common';
import type {
  DropTablesRequest,
  IngesterService,
  ScanChunk,
  WriteRequest,
  WriteResponse,
} from '#shared/contracts/gen/ingester';
import type { Ingesters } from '#shared/discovery/ingesters';
import { AlmanacError } from '#shared/errors/almanac-error';
import { decodeRowBatch } from '#shared/rowbatch/arrow';
import { hasValue, type Column } from '#shared/rowbatch/column';
import { decodeDefinitions, decodeTags } from '#shared/rowbatch/definitions';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { AppliedIds } from '#services/ingester/region/applied-ids';

/** A row for comparisons: by column id, with the tags of its series. */
export interface KeptRow {
  readonly regionId: number;
  readonly tableId: number;
  readonly tags: Readonly<Record<number, string>>;
  readonly time: bigint;
  readonly fields: Readonly<Record<number, unknown>>;
}

interface MemoryRegion {
  readonly applied: AppliedIds;
  readonly series: Map<bigint, Readonly<Record<number, string>>>;
}

const KEYS = { clock: systemClock, windowMs: 60_000, onEarlyDiscard: () => undefined };

/** An ingester that keeps rows in memory and follows the rules of `IngesterService.write`. */
export class MemoryIngester implements IngesterService, Ingesters {
  readonly rows: KeptRow[] = [];
  readonly requests: WriteRequest[] = [];
  /** Errors of the next writes, thrown before they are applied. */
  readonly refusals: AlmanacError[] = [];
  /** Errors of the next writes, thrown after they are applied: lost replies. */
  readonly lostAnswers: AlmanacError[] = [];
  readonly droppedTables = new Set<number>();
  incarnation = 1n;
  readonly #regions = new Map<number, MemoryRegion>();

  ownerOf(_region: RegionInfo): IngesterService {
    return this;
  }

  /** Restarts: series are lost as if nothing had been durable, applied ids are not. */
  restart(): void {
    this.incarnation++;
    for (const region of this.#regions.values()) region.series.clear();
  }

  async write(request: WriteRequest): Promise<WriteResponse> {
    this.requests.push(request);
    await Promise.resolve();
    const refusal = this.refusals.shift();
    if (refusal !== undefined) throw refusal;
    if (this.droppedTables.has(request.tableId)) throw new AlmanacError('table_not_found', 'table was dropped');
    const unknownSeries = this.#apply(request);
    const lost = this.lostAnswers.shift();
    if (lost !== undefined) throw lost;
    return { unknownSeries, incarnation: this.incarnation };
  }

  scan(): AsyncIterable<ScanChunk> {
    throw new AlmanacError('unsupported', 'the ingester of tests has no scan');
  }

  flushTable(): Promise<{ segments: number }> {
    return Promise.resolve({ segments: 0 });
  }

  compactTable(): Promise<{ segments: number }> {
    return Promise.resolve({ segments: 0 });
  }

  isAway(): boolean {
    return false;
  }

  dropTables({ tableIds }: DropTablesRequest): Promise<Record<string, never>> {
    for (const tableId of tableIds) this.droppedTables.add(tableId);
    return Promise.resolve({});
  }

  truncateTable(): Promise<Record<string, never>> {
    return Promise.resolve({});
  }

  regionStates(): Promise<{ regions: readonly [] }> {
    return Promise.resolve({ regions: [] });
  }

  fenceFlow(): Promise<Record<string, never>> {
    return Promise.resolve({});
  }

  #apply(request: WriteRequest): number[] {
    const region = this.#region(request.regionId);
    const state = region.applied.state(request.batchId);
    if (state === 'applied') return [];
    if (state === 'outdated') throw new AlmanacError('request_outdated', 'batch id is too old');
    // Copied, so that decoding cannot rely on the sender's objects.
    const batch = decodeRowBatch(request.batch.slice());
    const definitions = new Map(decodeDefinitions(request.definitions).map(({ tsid, tags }) => [tsid, tags]));
    const unknown = [...batch.tsids.keys()].filter((i) => {
      return !region.series.has(batch.tsids[i]) && !definitions.has(batch.tsids[i]);
    });
    if (unknown.length > 0) return unknown;
    for (const [tsid, tags] of definitions) region.series.set(tsid, readTags(tags));
    region.applied.add(request.batchId);
    for (let row = 0; row < batch.rowCount; row++) {
      const tags = region.series.get(batch.tsids[batch.seriesIndex[row]]) ?? {};
      const { regionId, tableId } = request;
      this.rows.push({ regionId, tableId, tags, time: batch.times[row], fields: readFields(batch, row) });
    }
    return [];
  }

  #region(regionId: number): MemoryRegion {
    let region = this.#regions.get(regionId);
    if (region === undefined) {
      region = { applied: new AppliedIds(KEYS), series: new Map() };
      this.#regions.set(regionId, region);
    }
    return region;
  }
}

function readTags(bytes: Uint8Array): Record<number, string> {
  const tags: Record<number, string> = {};
  for (const { columnId, value } of decodeTags(bytes)) tags[columnId] = Buffer.from(value).toString();
  return tags;
}

function readFields(batch: RowBatch, row: number): Record<number, unknown> {
  const fields: Record<number, unknown> = {};
  for (const column of batch.columns) if (hasValue(column, row)) fields[column.columnId] = cellOf(column, row);
  return fields;
}

/** Returns the value of one cell; text as a string. */
export function cellOf(column: Column, row: number): unknown {
  if (column.kind === 'fixed') return column.values[row];
  const bytes = column.bytes.subarray(column.offsets[row], column.offsets[row + 1]);
  return column.type === 'Binary' ? bytes.slice() : Buffer.from(bytes).toString();
}
