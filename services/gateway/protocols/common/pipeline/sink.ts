import type { Table } from '#shared/contracts/gen/common';
import { BatchSet } from '#shared/rowbatch/builder';
import type { WriteOptions } from '#shared/write/writer-types';

import type { Item } from '../../../pipelines/item.js';
import { PipelineRows } from '../../../pipelines/rows.js';
import { PipelineRun, type ItemForm } from '../../../pipelines/run.js';
import type { AdditionalWrite, DecodeInput, Decoding } from '../../protocol.js';
import type { TagSeriesCache } from '../tag-series.js';
import { FailureRows } from './failure-rows.js';
import { checkGroups, groupWrite } from './group-write.js';
import type { OpenPipeline } from './open.js';

/** A pipeline of a request, and how its rows are written. */
export interface PipelineUse extends OpenPipeline {
  readonly write: WriteOptions;
}

/** Turns the items of a request into rows by its pipeline. Protocols set the fields of `item` and call `run.run`. */
export class PipelineSink {
  readonly rows: PipelineRows;
  readonly run: PipelineRun;
  readonly #write: WriteOptions;
  readonly #tables: readonly Table[];
  #groupWrites: readonly WriteOptions[] = [];
  readonly #failures: FailureRows | undefined;

  /** @param form how the protocol sets the members of objects. */
  constructor(
    { nowNs, batches, tables }: Pick<DecodeInput, 'nowNs' | 'batches' | 'tables'>,
    { pipelines, parameters, write, failureKeys }: PipelineUse,
    series: TagSeriesCache,
    form: ItemForm,
  ) {
    let isFirst = true;
    const newBatches = (): BatchSet => {
      const made = isFirst ? batches : new BatchSet();
      isFirst = false;
      return made;
    };
    this.rows = new PipelineRows({ tables, series, nowNs, newBatches });
    this.#write = write;
    this.#tables = tables;
    if (failureKeys !== undefined) {
      const { version } = pipelines.root;
      const timeColumn = write.timeIndex.name;
      this.#failures = new FailureRows({ keys: failureKeys, nowNs, write, timeColumn, version });
    }
    this.run = new PipelineRun(pipelines, this.rows, parameters, form, this.#failures);
  }

  get item(): Item {
    return this.run.item;
  }

  /** Returns the slot of the item for a key. */
  slotOf(key: string): number {
    return this.item.slots.slotOf(key);
  }

  /**
   * Returns the options of the rows in the batches of the request.
   *
   * @throws `invalid_arguments` if any group of rows cannot be written, before the first one is.
   */
  mainWrite(): WriteOptions {
    checkGroups(this.rows.groups, this.#tables, this.#write);
    this.#groupWrites = this.rows.groups.map((group) => groupWrite(group, this.#write));
    return this.#groupWrites[0] ?? this.#write;
  }

  /** Returns the other groups of rows, and the items that failed; after `mainWrite`. */
  additionalWrites(): AdditionalWrite[] {
    const groups = this.rows.groups.slice(1).map(({ options, batches }, i): AdditionalWrite => {
      const kind = JSON.stringify([...options]);
      return { kind, isOptional: false, failsRequest: true, batches, write: this.#groupWrites[i + 1] };
    });
    return [...groups, ...(this.#failures?.additionalWrites() ?? [])];
  }
}

/** Returns the decoding of a body whose items go to a sink. */
export function sinkDecoding(decoder: Decoding, sink: PipelineSink): Decoding {
  return {
    rejected: decoder.rejected,
    decode: (budgetBytes) => decoder.decode(budgetBytes),
    mainWrite: () => sink.mainWrite(),
    additionalWrites: () => sink.additionalWrites(),
    metricCounts: () => sink.run.counts,
    abandon: () => sink.run.abandon(),
  };
}
