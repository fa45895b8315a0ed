import type { Clock } from '#shared/clock/clock';
import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import { metricNames, PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { canonicalTtl } from '#shared/schema/ttl';
import type { RowWriter, WriteOptions } from '#shared/write/writer-types';

import { CacheMemory } from '../protocols/common/cache-memory.js';
import { labelRules, type LabelRules } from '../protocols/common/metric-labels.js';
import { MetricRows } from '../protocols/common/metric-rows.js';
import { DecoderV1 } from '../protocols/remotewrite/decode-v1.js';
import { RemoteWriteCache } from '../protocols/remotewrite/remote-write-cache.js';
import { allSqlRows } from '../query/sql-rows.js';

/** Memory for the labels of the series that were written before. */
const CACHE_BYTES = 4 * 1024 * 1024;
/** Decoding that many bytes takes less than a millisecond. */
const SLICE_BYTES = 64 * 1024;
const TIME_TYPE = 'TimestampMillisecond';

/** Dependencies of `SelfImport`. */
export interface SelfImportDeps {
  readonly config: Config;
  readonly writer: RowWriter;
  readonly querier: QuerierService;
  readonly clock: Clock;
}

/** Writes messages of remote write into a database of this server, as its endpoint would, without a request. */
export class SelfImport {
  readonly #deps: SelfImportDeps;
  readonly #write: WriteOptions;
  readonly #rules: LabelRules;
  readonly #cache: RemoteWriteCache;

  constructor(deps: SelfImportDeps) {
    const { config } = deps;
    const names = metricNames(config);
    this.#deps = deps;
    this.#rules = labelRules({ isLossy: false, isLegacy: false }, names);
    this.#cache = new RemoteWriteCache(new CacheMemory(CACHE_BYTES), this.#rules);
    this.#write = {
      database: config.export_metrics.selfImportDb ?? `${config.naming}_metrics`,
      create: true,
      timeIndex: { name: names.timeColumn, type: TIME_TYPE },
      // Not of the database: types and help texts have the time 0, and would expire at once.
      tableOptions: {
        [PHYSICAL_METRIC_TABLE]: 'true',
        merge_mode: 'last_row',
        ttl: canonicalTtl(config.export_metrics.selfImportTtl),
      },
      timeType: TIME_TYPE,
    };
  }

  /** Writes one message durably. The database is created if it is missing. */
  async write(request: Buffer, call: Call): Promise<void> {
    try {
      await this.#writeOnce(request, call);
    } catch (thrown) {
      if (AlmanacError.from(thrown).code !== 'database_not_found') throw thrown;
      await this.#createDatabase(call);
      await this.#writeOnce(request, call);
    }
  }

  async #writeOnce(bytes: Buffer, call: Call): Promise<void> {
    const { config, clock, writer } = this.#deps;
    const names = metricNames(config);
    const defaultTable = names.physicalTable;
    const batches = new BatchSet();
    const rows = new MetricRows({ names, write: this.#write, defaultTable, nowMs: Math.round(clock.nowMs()) }, batches);
    const decoder = new DecoderV1(bytes, rows, { cache: this.#cache, rules: this.#rules, defaultTable });
    while (!decoder.decode(SLICE_BYTES)) await clock.yield();
    if (batches.rowCount > 0) await writer.write(batches, this.#write, call);
    for (const { batches: others, write } of decoder.additionalWrites()) await writer.write(others, write, call);
    decoder.metadataKept();
  }

  async #createDatabase(call: Call): Promise<void> {
    const { database } = this.#write;
    const sql = `CREATE DATABASE IF NOT EXISTS ${quoteName(database)}`;
    await allSqlRows(this.#deps.querier, { sql, database: 'public' }, call);
  }
}
