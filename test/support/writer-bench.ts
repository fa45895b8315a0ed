import { systemClock, type Clock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { AlmanacError } from '#shared/errors/almanac-error';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { CatalogCache } from '#shared/discovery/catalog-cache';
import { SeriesEntry, type BatchSet } from '#shared/rowbatch/builder';
import { seriesId } from '#shared/rowbatch/series-key';
import { openLog } from '#shared/telemetry/log';
import { Metrics } from '#shared/telemetry/metrics';
import { RegionSender } from '#shared/write/send';
import { BatchWriter } from '#shared/write/writer';
import type { WriteOptions } from '#shared/write/writer-types';
import type { RunningMetadata } from '#services/metadata/index';
import { MemoryIngester } from './memory-ingester.js';
import { NO_FOLDER } from './metadata-rig.js';
import { metadataIn, testFolder, type TestFolder } from './metadata.js';

const call = ownCall('test');

/** Rests end at once. */
export const hastyClock: Clock = { ...systemClock, sleep: () => systemClock.yield() };

export const quietLog = openLog({
  filter: 'error',
  format: 'json',
  coloured: false,
  clock: systemClock,
  write: () => undefined,
}).logger;

/** Options of line protocol. */
export const OPTIONS: WriteOptions = {
  database: 'public',
  create: true,
  timeIndex: { name: 'greptime_timestamp', type: 'TimestampNanosecond' },
  tableOptions: { merge_mode: 'last_non_null' },
  timeType: 'TimestampNanosecond',
};

export type Tags = Readonly<Record<string, string>>;
/** Float64, Int64 or String by the type of the value. */
export type Fields = Readonly<Record<string, number | bigint | string>>;

/** A writer over the real metadata service and an ingester in memory. */
export class WriterBench {
  readonly metadata: MetadataService;
  readonly catalog: CatalogCache;
  readonly ingester = new MemoryIngester();
  readonly writer: BatchWriter;
  /** Calls of `ensureTables`. */
  ensured = 0;
  /** Errors of the next ones of these calls. */
  readonly ensureFailures: AlmanacError[] = [];
  readonly #folder: TestFolder;
  readonly #running: RunningMetadata;
  /** Lives as long as a gateway: series that are met again are the same objects. */
  readonly #series = new Map<string, SeriesEntry>();

  private constructor(folder: TestFolder, running: RunningMetadata) {
    this.#folder = folder;
    this.#running = running;
    this.metadata = {
      ...running.service,
      ensureTables: (request, ensuring) => {
        this.ensured++;
        const failure = this.ensureFailures.shift();
        if (failure !== undefined) return Promise.reject(failure);
        return running.service.ensureTables(request, ensuring);
      },
    };
    const { metadata } = this;
    this.catalog = new CatalogCache({ metadata, clock: hastyClock, random: systemRandom, log: quietLog });
    this.writer = this.newWriter();
  }

  static async open(regions: number): Promise<WriterBench> {
    const folder = testFolder();
    const running = await metadataIn(folder.path, regions);
    await running.service.registerNode(
      { role: 'standalone', addr: '', slot: '0', version: 'test', ...NO_FOLDER },
      call,
    );
    return new WriterBench(folder, running);
  }

  async close(): Promise<void> {
    await this.#running.stop();
    this.#folder.remove();
  }

  /** Another writer, as another process would have. */
  newWriter(clock: Clock = hastyClock, messageBytesMax?: number): BatchWriter {
    const { catalog, metadata, ingester } = this;
    const metrics = new Metrics({ unprefixedProcess: false });
    const deps = { catalog, clock, random: systemRandom, metrics };
    const sender = new RegionSender({ ...deps, ingesters: ingester, messageBytesMax });
    return new BatchWriter({ catalog, metadata, sender, clock, metrics });
  }

  add(batches: BatchSet, table: string, { tags = {}, fields, time = 1n }: Row): void {
    const builder = batches.table(table);
    builder.startRow(this.#seriesOf(table, tags));
    const row = builder.rowCount;
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'number') builder.field(name, 'Float64').setNumber(row, value);
      if (typeof value === 'bigint') builder.field(name, 'Int64').setBigInt(row, value);
      if (typeof value !== 'string') continue;
      const bytes = Buffer.from(value);
      builder.field(name, 'String').setBytes(row, bytes, 0, bytes.length);
    }
    builder.endRowAt(time);
  }

  table(name: string): Promise<Table> {
    return this.metadata.getTable({ database: 'public', name, tableId: 0 }, call);
  }

  /** Rows of the present table of that name, by names of columns. */
  kept(name: string): unknown[] {
    const found = this.catalog.known('public', name);
    const names = new Map(found?.columns.map((column) => [String(column.id), column.name]));
    const named = (values: Readonly<Record<number, unknown>>): Record<string, unknown> =>
      Object.fromEntries(Object.entries(values).map(([id, value]) => [names.get(id) ?? id, value]));
    return this.ingester.rows
      .filter((row) => row.tableId === found?.tableId)
      .map((row) => ({ ...named(row.tags), ...named(row.fields), time: row.time }));
  }

  #seriesOf(table: string, tags: Tags): SeriesEntry {
    const key = JSON.stringify([table, tags]);
    const list = Object.entries(tags).map(([name, value]) => ({ name, value: Buffer.from(value) }));
    const entry = this.#series.get(key) ?? new SeriesEntry(table, seriesId(list), list);
    this.#series.set(key, entry);
    return entry;
  }
}

export interface Row {
  readonly tags?: Tags;
  readonly fields: Fields;
  readonly time?: bigint;
}
