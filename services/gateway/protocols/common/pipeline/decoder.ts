import { AlmanacError } from '#shared/errors/almanac-error';
import type { WriteOptions } from '#shared/write/writer-types';

import type { MetricCounts } from '../../../pipelines/document/log-metrics.js';
import type { AdditionalWrite, DecodeInput, Decoding } from '../../protocol.js';
import { RejectedRows } from '../rejected-rows.js';
import type { TagSeriesCache } from '../tag-series.js';
import { bodyItems, type BodyItems, type BodyType } from './body-items.js';
import { PipelineSink, type PipelineUse } from './sink.js';
import { TapeItems } from './tape-items.js';

/** A request whose body is items for a pipeline. */
export interface PipelineRequest extends PipelineUse {
  readonly type: BodyType;
  readonly table: string;
}

/** Decodes a body of items by a pipeline. */
export class PipelineDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly sink: PipelineSink;
  readonly #request: PipelineRequest;
  readonly #items: BodyItems;

  constructor(input: Omit<DecodeInput, 'fieldTypes'>, request: PipelineRequest, series: TagSeriesCache) {
    const { parameters, type } = request;
    this.sink = new PipelineSink(input, request, series, 'flat');
    const { run } = this.sink;
    const items = new TapeItems(run, run.isFlat ? parameters.levelsMax : 1);
    this.#items = bodyItems(type, input.bytes, { run, items });
    this.#request = request;
  }

  /** @throws `invalid_arguments` if an item cannot be read, or fails. */
  decode(budgetBytes: number): boolean {
    const stop = this.#items.at + budgetBytes;
    while (this.#items.at < stop) if (!this.#next()) return true;
    return false;
  }

  mainWrite(): WriteOptions {
    return this.sink.mainWrite();
  }

  additionalWrites(): AdditionalWrite[] {
    return this.sink.additionalWrites();
  }

  metricCounts(): MetricCounts {
    return this.sink.run.counts;
  }

  abandon(): void {
    this.sink.run.abandon();
  }

  #next(): boolean {
    const items = this.#items;
    const { run } = this.sink;
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
