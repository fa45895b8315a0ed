import { BatchSet, SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';
import { checkTableName } from '#shared/schema/names';
import type { NewColumn, WriteOptions } from '#shared/write/writer-types';

import { requestError } from '../../../pipelines/build-error.js';
import type { FailedItem } from '../../../pipelines/failed-item.js';
import type { FailureKeys } from '../../../pipelines/failure-keys.js';
import type { FailureTarget } from '../../../pipelines/run.js';
import { pipelineVersionText } from '../../../pipelines/version.js';
import type { AdditionalWrite } from '../../protocol.js';

const TABLES_MAX = 100;
const SUFFIX = '_failures';
const TAGS = ['pipeline', 'process'] as const;
/** Columns of a failure table, all texts, besides its tags and its time. */
const FIELDS = ['version', 'step', 'message', 'item', 'kinds', 'form', 'target'] as const;

/** Returns the name of the table for the items that failed on their way to a table. */
export function failureTableOf(table: string): string {
  return table + SUFFIX;
}

/** Options of the failure rows of a request. */
export interface FailureRowsOptions {
  readonly keys: FailureKeys;
  readonly nowNs: bigint;
  /** Options of the rows of the request. */
  readonly write: WriteOptions;
  readonly timeColumn: string;
  /** Version of the pipeline of the request; undefined if it is not stored. */
  readonly version: bigint | undefined;
}

/** The rows of failure tables of one request. */
export class FailureRows implements FailureTarget {
  readonly #options: FailureRowsOptions;
  readonly #batches = new BatchSet();
  readonly #series = new Map<string, SeriesEntry>();

  constructor(options: FailureRowsOptions) {
    this.#options = options;
  }

  add(failure: FailedItem): void {
    const { keys, nowNs, version } = this.#options;
    const table = failureTableOf(failure.table);
    checkTableName(table);
    const builder = this.#batches.table(table);
    if (this.#batches.tables.size > TABLES_MAX) {
      throw requestError(`items of more than ${TABLES_MAX} tables failed`);
    }
    const texts = {
      ...failure,
      item: failure.text,
      version: version === undefined ? '' : pipelineVersionText(version),
    };
    const row = builder.rowCount;
    builder.startRow(this.#seriesOf(table, failure.pipeline));
    for (const name of FIELDS) builder.field(name, 'String').setText(row, texts[name]);
    builder.endRowAt(keys.timeOf(nowNs));
  }

  additionalWrites(): AdditionalWrite[] {
    if (this.#batches.rowCount === 0) return [];
    const { write, timeColumn } = this.#options;
    const columns: NewColumn[] = [
      ...TAGS.map((name) => ({ name, type: 'String', kind: 'tag' as const })),
      ...FIELDS.map((name) => ({ name, type: 'String', kind: 'field' as const })),
    ];
    const own: WriteOptions = {
      database: write.database,
      create: true,
      timeIndex: { name: timeColumn, type: 'TimestampNanosecond' },
      timeType: 'TimestampNanosecond',
      columns,
      // A replay deletes rows, which tables that keep every row do not allow.
      tableOptions: { merge_mode: 'last_row' },
      refusesPartly: true,
    };
    return [{ kind: 'failures', isOptional: false, failsRequest: true, batches: this.#batches, write: own }];
  }

  #seriesOf(table: string, pipeline: string): SeriesEntry {
    const key = `${table}\0${pipeline}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      const values = [pipeline, this.#options.keys.process];
      const tags: Tag[] = TAGS.map((name, i) => ({ name, value: Buffer.from(values[i]) }));
      series = new SeriesEntry(table, seriesId(tags), tags);
      this.#series.set(key, series);
    }
    return series;
  }
}
