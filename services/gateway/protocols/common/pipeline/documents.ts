import { Timestamp } from '../../../pipelines/values/timestamp.js';
import type { DocumentTarget } from '../document-target.js';
import type { JsonMember, JsonTape } from '../json-tape.js';
import type { PipelineSink } from './sink.js';
import { itemTape, setTapeField } from './tape-items.js';

interface MemberSlot {
  readonly slot: number;
}

/** Options of the items that documents become. */
export interface PipelineDocumentsOptions {
  /** Whether items get the time of the document as a field. */
  readonly hasTime: boolean;
  /** Levels of objects whose members become fields of their own; 1 for none. */
  readonly levelsMax: number;
}

/** Makes an item for a pipeline of each document. */
export class PipelineDocuments implements DocumentTarget {
  readonly tape: JsonTape;
  readonly #sink: PipelineSink;
  readonly #timeSlot: number;

  constructor(sink: PipelineSink, { hasTime, levelsMax }: PipelineDocumentsOptions) {
    this.#sink = sink;
    this.tape = itemTape({ levelsMax });
    this.#timeSlot = hasTime ? sink.slotOf(sink.run.timeKey) : -1;
  }

  tag(name: string, value: string): void {
    if (value !== '') this.textField(name, value);
  }

  tagValue(index: number): void {
    this.fieldValue(index);
  }

  fieldValue(index: number): void {
    const { tape } = this;
    setTapeField(this.#sink.item, this.#slotOf(tape.members[index]), tape, index);
  }

  textField(name: string, text: string): void {
    this.#sink.item.setText(this.#sink.slotOf(name), text);
  }

  clear(): void {
    this.#sink.item.clear();
  }

  end(table: string, time: bigint): void {
    if (this.#timeSlot >= 0) {
      const { seconds, nanos } = Timestamp.ofNs(time);
      this.#sink.item.setTimestamp(this.#timeSlot, seconds, nanos);
    }
    this.#sink.run.run(table);
  }

  /** Limits of the pipeline hold for each item and the whole request as they come. */
  checkSize(): void {
    return undefined;
  }

  #slotOf(member: JsonMember): number {
    const known = member.column as MemberSlot | undefined;
    if (known !== undefined) return known.slot;
    const slot = this.#sink.slotOf(member.name);
    member.column = { slot } satisfies MemberSlot;
    return slot;
  }
}
