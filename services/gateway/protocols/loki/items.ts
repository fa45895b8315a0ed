import { AlmanacError } from '#shared/errors/almanac-error';

import { Timestamp } from '../../pipelines/values/timestamp.js';
import { parseTree } from '../../pipelines/values/parse-tree.js';
import { isObject, type PipelineValue } from '../../pipelines/values/value.js';
import type { PipelineSink } from '../common/pipeline/sink.js';
import { checkedLabels, type LokiEntries } from './rows.js';

const LINE = 'loki_line';
const LABEL = 'loki_label_';
const METADATA = 'loki_metadata_';
/** Texts of labels whose parsed form is kept during a request. */
const STREAMS_MAX = 1_000;

interface LabelField {
  readonly slot: number;
  readonly value: string;
}

/** Makes an item for a pipeline of each entry (spec: pipelines 14). */
export class LokiItems implements LokiEntries {
  readonly #sink: PipelineSink;
  readonly #table: string;
  readonly #timeSlot: number;
  readonly #lineSlot: number;
  readonly #streams = new Map<string, readonly LabelField[]>();
  #labels: readonly LabelField[] = [];

  constructor(sink: PipelineSink, table: string) {
    this.#sink = sink;
    this.#table = table;
    this.#timeSlot = sink.slotOf(sink.run.timeKey);
    this.#lineSlot = sink.slotOf(LINE);
  }

  beginStream(labels: string): void {
    const known = this.#streams.get(labels);
    if (known !== undefined) {
      this.#labels = known;
      return;
    }
    this.beginStreamOf(checkedLabels(labels));
    if (this.#streams.size < STREAMS_MAX) this.#streams.set(labels, this.#labels);
  }

  beginStreamOf(labels: ReadonlyMap<string, string>): void {
    this.#labels = [...labels].map(([name, value]) => ({ slot: this.#sink.slotOf(LABEL + name), value }));
  }

  addBytes(bytes: Buffer, from: number, to: number, time: bigint, metadata: Buffer | undefined): void {
    this.#begin(time, metadata);
    this.#sink.item.setBytes(this.#lineSlot, bytes, from, to);
    this.#sink.run.run(this.#table);
  }

  addText(line: string, time: bigint, metadata: Buffer | undefined): void {
    this.#begin(time, metadata);
    this.#sink.item.setText(this.#lineSlot, line);
    this.#sink.run.run(this.#table);
  }

  #begin(time: bigint, metadata: Buffer | undefined): void {
    const { item } = this.#sink;
    const { seconds, nanos } = Timestamp.ofNs(time);
    item.setTimestamp(this.#timeSlot, seconds, nanos);
    for (const { slot, value } of this.#labels) item.setText(slot, value);
    if (metadata === undefined) return;
    for (const [name, value] of membersOf(parseTree(metadata.toString()))) {
      item.set(this.#sink.slotOf(METADATA + name), value);
    }
  }
}

function membersOf(value: PipelineValue): ReadonlyMap<string, PipelineValue> {
  if (isObject(value)) return value;
  throw new AlmanacError('invalid_arguments', 'structured metadata must be an object of texts');
}
