import { WireReader } from '#shared/protobuf/wire-reader';
import { METRIC_NAME } from '#shared/schema/metric-table';

import { itemError, requestError } from '../../pipelines/build-error.js';
import type { PipelineSink } from '../common/pipeline/sink.js';
import { isTargetLabel, type LabelRules, type MetricLabel } from '../common/metric-labels.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';
import { readLabels } from './labels.js';
import { LABEL_TAG, SAMPLE_TAG, SampleReader, SERIES_TAG } from './sample.js';

const HISTOGRAM_TAG = 0x22;
const SAMPLES_MAX = 4 * 1024 * 1024;

/** Options of a `SampleItemDecoder`. */
export interface SampleItemOptions {
  readonly rules: Pick<LabelRules, 'isLossy'>;
  /** Names of the time and the value where the pipeline does not spell them otherwise. */
  readonly timeColumn: string;
  readonly valueColumn: string;
}

/** Makes an item for a pipeline of each sample of remote write 1.0; the table is the metric. */
export class SampleItemDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly histogramCount = 0;
  readonly #reader: WireReader;
  readonly #sink: PipelineSink;
  readonly #rules: Pick<LabelRules, 'isLossy'>;
  readonly #sample: SampleReader;
  readonly #value = new DataView(new ArrayBuffer(8));
  readonly #timeSlot: number;
  readonly #valueSlot: number;
  #at = 0;

  constructor(bytes: Buffer, sink: PipelineSink, { rules, timeColumn, valueColumn }: SampleItemOptions) {
    this.#reader = new WireReader(bytes);
    this.#sample = new SampleReader(this.#reader);
    this.#sink = sink;
    this.#rules = rules;
    const { timeKey } = sink.run;
    this.#timeSlot = sink.slotOf(timeKey);
    this.#valueSlot = sink.slotOf(timeKey === timeColumn ? valueColumn : timeKey.replace(/timestamp$/, 'value'));
  }

  /** Samples that were not left out. */
  get sampleCount(): number {
    const { itemCount, skipped } = this.#sink.run;
    return itemCount - skipped;
  }

  decode(budgetBytes: number): boolean {
    const reader = this.#reader;
    const end = reader.bytes.length;
    const stop = this.#at + budgetBytes;
    while (this.#at < stop && this.#at < end) {
      const tag = reader.varint(this.#at, end);
      this.#at = reader.skip(tag, reader.at, end);
      if (tag === SERIES_TAG) this.#addSeries(reader.at, this.#at);
    }
    return this.#at === end;
  }

  #addSeries(from: number, end: number): void {
    const reader = this.#reader;
    const labels: Buffer[] = [];
    const samples: number[] = [];
    let hasHistogram = false;
    for (let at = from; at < end;) {
      const start = at;
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if (tag === LABEL_TAG) labels.push(reader.bytes.subarray(start, at));
      else if (tag === SAMPLE_TAG) samples.push(reader.at, at);
      else if (tag === HISTOGRAM_TAG) hasHistogram = true;
    }
    const read = this.#labelsOf(Buffer.concat(labels));
    if (typeof read === 'string') return this.#sink.run.fail(itemError(read));
    const { metric, tags } = read;
    if (hasHistogram) this.#sink.run.fail(itemError(`native histograms do not pass through pipelines: ${metric}`));
    for (let i = 0; i < samples.length; i += 2) this.#addSample(metric, tags, samples[i], samples[i + 1]);
  }

  /** Returns the metric and its labels; a text is the reason to reject the series. */
  #labelsOf(bytes: Buffer): { readonly metric: string; readonly tags: readonly MetricLabel[] } | string {
    const labels = readLabels(new WireReader(bytes), 0, bytes.length, this.#rules);
    if (typeof labels === 'string') return labels;
    let metric = '';
    const tags = labels.filter((label) => {
      if (label.name === METRIC_NAME) metric = label.value.toString();
      else if (isTargetLabel(label.name)) {
        throw requestError(`label "${label.name}" has no effect with a pipeline: use the header or parameter "db"`);
      }
      return label.name !== METRIC_NAME;
    });
    return metric === '' ? 'series has no metric name' : { metric, tags };
  }

  #addSample(metric: string, tags: readonly MetricLabel[], from: number, end: number): void {
    if (this.#sink.run.itemCount >= SAMPLES_MAX) throw requestError(`request has more than ${SAMPLES_MAX} samples`);
    const { item, run } = this.#sink;
    const sample = this.#sample;
    sample.read(from, end);
    for (const { name, value } of tags) item.setText(this.#sink.slotOf(name), value.toString());
    item.setInteger(this.#timeSlot, (BigInt(sample.timeHigh) << 32n) | BigInt(sample.timeLow >>> 0));
    this.#value.setInt32(0, sample.valueLow, true);
    this.#value.setInt32(4, sample.valueHigh, true);
    const value = this.#value.getFloat64(0, true);
    // Stale markers are NaN, which is no value of a pipeline.
    if (Number.isNaN(value)) item.set(this.#valueSlot, null);
    else item.setFloat(this.#valueSlot, value);
    run.run(metric);
  }
}
