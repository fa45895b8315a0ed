import type { Table } from '#shared/contracts/gen/common';
import { BatchSet } from '#shared/rowbatch/builder';

import type { PipelineSet, StepObserver } from '../pipelines/run.js';
import { CacheMemory } from '../protocols/common/cache-memory.js';
import type { JsonValue } from '../protocols/common/json.js';
import type { BodyType } from '../protocols/common/pipeline/body-items.js';
import { PipelineDecoder } from '../protocols/common/pipeline/decoder.js';
import type { PipelineParameters } from '../protocols/common/pipeline/parameters.js';
import { TagSeriesCache } from '../protocols/common/tag-series.js';
import { tableReport } from './table-report.js';

/** Name of the table that the rows of a trial are for. */
export const TRIAL_TABLE = 'dry_run';

/** Items that a pipeline is run over without writing their rows. */
export interface Trial {
  readonly pipelines: PipelineSet;
  readonly parameters: PipelineParameters;
  readonly type: BodyType;
  readonly data: Buffer;
  readonly nowNs: bigint;
  readonly observer?: StepObserver;
  /** Called after each slice of the items. @throws to end the trial. */
  readonly check?: (decoder: PipelineDecoder) => void;
}

const NO_TABLES: readonly Table[] = [];

/** Runs a trial. @throws `invalid_arguments` if an item fails. */
export function runTrial({ data, nowNs, observer, check, ...request }: Trial): PipelineDecoder {
  const write = {
    database: '',
    create: true,
    timeIndex: { name: '', type: '' },
    tableOptions: {},
    timeType: 'TimestampNanosecond',
  };
  const decoder = new PipelineDecoder(
    { bytes: data, nowNs, batches: new BatchSet(), tables: NO_TABLES },
    { ...request, table: TRIAL_TABLE, write, failureKeys: undefined },
    new TagSeriesCache(new CacheMemory(0)),
  );
  decoder.sink.run.observer = observer;
  try {
    while (!decoder.decode(data.length)) check?.(decoder);
    check?.(decoder);
    return decoder;
  } finally {
    // A trial leaves nothing in the state of pipelines, such as what was seen for duplicates.
    decoder.abandon();
  }
}

/** Describes the tables of a trial that have rows. */
export function trialTables({ sink }: PipelineDecoder): JsonValue[] {
  return sink.rows.groups.flatMap((group) => {
    return [...group.tables.values()].flatMap((table) =>
      table.builder.rowCount === 0 ? [] : [tableReport(table, group)],
    );
  });
}
