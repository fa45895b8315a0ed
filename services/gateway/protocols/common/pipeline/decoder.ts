import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import type { WriteOptions } from '#shared/write/writer-types';

import { PipelineRows, type RowGroup } from '../../../pipelines/rows.js';
import { PipelineRun, type PipelineSet } from '../../../pipelines/run.js';
import type { AdditionalWrite, DecodeInput, Decoding } from '../../protocol.js';
import { RejectedRows } from '../rejected-rows.js';
import type { TagSeriesCache } from '../tag-series.js';
import { bodyItems, type BodyItems, type BodyType } from './body-items.js';
import type { PipelineParameters } from './parameters.js';
import { TapeItems } from './tape-items.js';
import { groupWrite } from './group-write.js';

/** A request whose body goes through a pipeline. */
export interface PipelineRequest {
  readonly pipelines: PipelineSet;
  readonly parameters: PipelineParameters;
  readonly type: BodyType;
  readonly table: string;
  readonly write: WriteOptions;
}

/** Decodes a body by a pipeline. */
export class PipelineDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly rows: PipelineRows;
  readonly run: PipelineRun;
  readonly #request: PipelineRequest;
  readonly #items: BodyItems;

  constructor(
    { bytes, nowNs, batches, tables }: Omit<DecodeInput, 'fieldTypes'>,
    request: PipelineRequest,
    series: TagSeriesCache,
  ) {
    const { parameters, pipelines, type } = request;
    let isFirst = true;
    const newBatches = (): BatchSet => {
      const made = isFirst ? batches : new BatchSet();
      isFirst = false;
      return made;
    };
    this.rows = new PipelineRows({ tables, series, nowNs, newBatches });
    this.run = new PipelineRun(pipelines, this.rows, parameters);
    const items = new TapeItems(this.run, this.run.isFlat ? parameters.levelsMax : 1);
    this.#items = bodyItems(type, bytes, { run: this.run, items });
    this.#request = request;
  }

  /** @throws `invalid_arguments` if an item cannot be read, or fails. */
  decode(budgetBytes: number): boolean {
    const stop = this.#items.at + budgetBytes;
    while (this.#items.at < stop) if (!this.#next()) return true;
    return false;
  }

  /** Returns the options of the rows in the batches of the request. */
  mainWrite(): WriteOptions {
    const [first] = this.rows.groups as readonly (RowGroup | undefined)[];
    return first === undefined ? this.#request.write : groupWrite(first, this.#request.write);
  }

  additionalWrites(): AdditionalWrite[] {
    return this.rows.groups.slice(1).map((group) => {
      const write = groupWrite(group, this.#request.write);
      return { kind: JSON.stringify([...group.options]), isOptional: false, batches: group.batches, write };
    });
  }

  abandon(): void {
    this.run.abandon();
  }

  #next(): boolean {
    const items = this.#items;
    const { run } = this;
    const { table, parameters } = this.#request;
    try {
      if (!items.next()) return false;
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      run.item.clear();
      if (!parameters.ignoresErrors || error.httpStatus !== 400) throw error;
      return !items.isStuck;
    }
    if (items.value === undefined) run.run(table);
    else run.runValue(items.value, table);
    return true;
  }
}
