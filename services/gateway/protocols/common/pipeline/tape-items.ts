import type { Item } from '../../../pipelines/item.js';
import type { PipelineRun } from '../../../pipelines/run.js';
import { parseTree } from '../../../pipelines/values/parse-tree.js';
import { canonicalJson } from '../../../pipelines/values/value.js';
import { JsonKind, JsonTape, type JsonMember, type JsonTapeOptions } from '../json-tape.js';

/** Reads JSON objects from bytes into the item of a pipeline. */
export class TapeItems {
  readonly #tape: JsonTape;
  readonly #run: PipelineRun;

  /** @param levelsMax levels of objects whose members become keys of their own, joined by dots; 1 for none. */
  constructor(run: PipelineRun, levelsMax: number) {
    this.#run = run;
    this.#tape = itemTape({ levelsMax });
  }

  /**
   * Reads the object that begins at `from`, after spaces, into the item. Returns the position after it.
   *
   * @throws `invalid_arguments` if it is malformed, or not complete before `end`.
   */
  read(bytes: Buffer, from: number, end: number): number {
    const tape = this.#tape;
    const to = tape.read(bytes, from, end);
    for (let i = 0; i < tape.count; i++) this.#setField(i, tape.members[i]);
    return to;
  }

  #setField(index: number, member: JsonMember): void {
    const { item } = this.#run;
    // Slots are numbered from 0, and 0 means that the member has none yet.
    if (member.use === 0) member.use = item.slots.slotOf(member.name) + 1;
    setTapeField(item, member.use - 1, this.#tape, index);
  }
}

/** Returns the tape for items: arrays and objects below the last level are held as sorted JSON. */
export function itemTape(options: Pick<JsonTapeOptions, 'level' | 'levelsMax'>): JsonTape {
  return new JsonTape({ ...options, listText: (json) => canonicalJson(parseTree(json.toString())) });
}

/** Sets a field of an item to a value of a tape. */
export function setTapeField(item: Item, slot: number, tape: JsonTape, index: number): void {
  const kind = tape.kinds[index];
  switch (kind) {
    case JsonKind.replaced:
    case JsonKind.empty:
      return;
    case JsonKind.null:
      return item.set(slot, null);
    case JsonKind.false:
    case JsonKind.true:
      return item.set(slot, kind === JsonKind.true);
    case JsonKind.double:
      return item.setFloat(slot, tape.number(index));
    case JsonKind.integer: {
      const integer = tape.integer(index);
      if (integer === undefined) item.setFloat(slot, tape.number(index));
      else item.setInteger(slot, integer);
      return;
    }
    case JsonKind.text:
      return item.setBytes(slot, tape.bytes, tape.from[index], tape.to[index]);
    case JsonKind.escaped:
      return item.setText(slot, tape.text(index));
    default:
      return item.setJson(slot, tape.text(index));
  }
}
