import { crc32c } from '#shared/bytes/crc32c';
import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet, TableBuilder } from '#shared/rowbatch/builder';
import type { Metrics } from '#shared/telemetry/metrics';
import { prepareTable, type PreparedTable } from './prepare.js';
import { LARGE_ROWS, type RegionSender } from './send.js';
import { splitRows } from './split.js';
import { resolveTables, type WriteCatalog } from './tables.js';
import { WrittenRows } from './written-rows.js';
import type { RejectedRow, RowWriter, WriteOptions, WriteResult } from './writer-types.js';

export interface BatchWriterOptions {
  readonly catalog: WriteCatalog;
  readonly metadata: MetadataService;
  readonly sender: RegionSender;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** A table whose rows were sent, and how that ended. */
interface SentTable {
  readonly builder: TableBuilder;
  readonly prepared: PreparedTable;
  readonly failures: readonly AlmanacError[];
}

/** Finds or makes the tables of a request, leaves out what does not fit, and sends the rest to all regions at once. */
export class BatchWriter implements RowWriter {
  readonly #options: BatchWriterOptions;
  readonly #rows: WrittenRows;
  /** Advances the region that tables without versions write to. */
  #turn = 0;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
    this.#rows = new WrittenRows(options.metrics);
  }

  async write(batches: BatchSet, options: WriteOptions, call: Call): Promise<WriteResult> {
    const builders = [...batches.tables.values()].filter((builder) => builder.rowCount > 0);
    let sent = await this.#attempt(builders, options, false, call);
    const gone = sent.filter(({ failures }) => failures.some(isGone));
    if (gone.length > 0) {
      // The table was dropped, and maybe made again: what an old region kept is gone with it.
      const again = await this.#attempt(
        gone.map(({ builder }) => builder),
        options,
        true,
        call,
      );
      sent = [...sent.filter((it) => !gone.includes(it)), ...again];
    }
    const failures = sent.flatMap((it) => it.failures);
    // A refusal that nothing can heal shows again when the client repeats what may be half written.
    const failure = failures.find((it) => it.retry) ?? failures[0];
    if (failure !== undefined) throw failure;

    let rowCount = 0;
    for (const { prepared } of sent) rowCount += prepared.batch.rowCount;
    this.#rows.add(options.database, rowCount);
    const rejected = sent.flatMap(({ prepared }) => prepared.rejected);
    const isConflict = ({ conflict }: RejectedRow): boolean => conflict !== undefined;
    return { rowCount, rejected: [...rejected.filter(isConflict), ...rejected.filter((row) => !isConflict(row))] };
  }

  async #attempt(
    builders: readonly TableBuilder[],
    options: WriteOptions,
    isDoubted: boolean,
    call: Call,
  ): Promise<SentTable[]> {
    const resolved = await resolveTables(this.#options, builders, options, isDoubted, call);
    // All tables are prepared before the first is sent, so that what throws here leaves nothing behind.
    const prepared: PreparedTable[] = [];
    for (const table of resolved) {
      if (table.builder.rowCount >= LARGE_ROWS) await this.#options.clock.yield();
      prepared.push(prepareTable(table, options.timeType));
    }
    const { idempotencyKey } = options;
    // Rows that are sent again must come to the same region.
    const turn = idempotencyKey === undefined ? this.#turn++ : crc32c(Buffer.from(idempotencyKey));
    const parts = prepared.map((it) => splitRows(it, turn));
    const outcomes = await this.#options.sender.send(parts.flat(), call, { idempotencyKey });
    return prepared.map((it, i) => {
      const failures = outcomes.splice(0, parts[i].length).flatMap((outcome) => {
        return outcome.status === 'rejected' ? [AlmanacError.from(outcome.reason)] : [];
      });
      return { builder: builders[i], prepared: it, failures };
    });
  }
}

function isGone(error: AlmanacError): boolean {
  return error.code === 'table_not_found' || error.code === 'region_not_found';
}
