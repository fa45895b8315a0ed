import { systemClock } from '#shared/clock/clock';

import type { Item } from '../pipelines/item.js';
import { DROPPED, type StepResult } from '../pipelines/processors/processor.js';
import type { StepObserver } from '../pipelines/run.js';
import { canonicalJson, type ObjectValue } from '../pipelines/values/value.js';
import { parseJson, type JsonObject, type JsonValue } from '../protocols/common/json.js';

/** Longest JSON of the items of one explanation. */
const TEXT_MAX = 16 * 1024 * 1024;

/** Records what each processor made of each item, and how long it took. */
export class Explanation implements StepObserver {
  readonly items: JsonValue[] = [];
  #steps: JsonValue[] = [];
  #failure: JsonObject | undefined = undefined;
  #startedMs = 0;
  #characters = 0;

  beforeStep(): void {
    this.#startedMs = systemClock.monotonicMs();
  }

  afterStep(step: string, pipeline: string, item: Item, result: StepResult): void {
    const timeUs = Math.round((systemClock.monotonicMs() - this.#startedMs) * 1000);
    this.#steps.push({ pipeline, step, ...this.#outcome(item, result), time_us: timeUs });
  }

  failed(step: string, error: string): void {
    this.#failure = { error, step };
  }

  ended(): void {
    this.items.push({ item: this.items.length, steps: this.#steps, ...this.#failure });
    this.#steps = [];
    this.#failure = undefined;
  }

  #outcome(item: Item, result: StepResult): JsonObject {
    if (result === DROPPED) return { dropped: true };
    if (result !== undefined) return { rows: this.#json(canonicalJson(result)) };
    const { keys } = item.slots;
    const context: ObjectValue = new Map(item.present().map((slot) => [keys[slot], item.get(slot) ?? null]));
    return { context: this.#json(canonicalJson(context)) };
  }

  #json(text: string): JsonValue {
    this.#characters += text.length;
    return this.#characters > TEXT_MAX ? null : parseJson(Buffer.from(text), { bytesMax: Infinity });
  }
}
