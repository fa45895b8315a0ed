import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { systemRandom } from '#shared/clock/random';
import { compilePipeline } from '#services/gateway/pipelines/compile';
import { Item, KeySlots } from '#services/gateway/pipelines/item';
import { DROPPED } from '#services/gateway/pipelines/processors/processor';
import { LookupTables, type LookupSource } from '#services/gateway/pipelines/lookup-tables';
import type { PipelineResources } from '#services/gateway/pipelines/resources';
import { PipelineState } from '#services/gateway/pipelines/state';
import { parseTree } from '#services/gateway/pipelines/values/parse-tree';
import { canonicalJson, type ObjectValue, type PipelineValue } from '#services/gateway/pipelines/values/value';

const noTable: LookupSource = () => Promise.reject(new AlmanacError('table_not_found', 'there is no table'));

/** Returns resources of pipelines, with some of them replaced. */
export function pipelineResources(own: Partial<PipelineResources> = {}): PipelineResources {
  return {
    clock: systemClock,
    random: systemRandom,
    keys: new Map(),
    state: new PipelineState(),
    lookups: new LookupTables({ source: noTable, clock: systemClock, refreshFailed: () => undefined }),
    dropCounter: () => () => undefined,
    ...own,
  };
}

/** The processors of a pipeline, which tests run over items one by one. */
export class TestPipeline {
  readonly warnings: readonly string[];
  readonly #pipeline;

  /** @param processors the list as YAML, without the key `processors`. */
  constructor(processors: string, resources = pipelineResources()) {
    const list = processors.trim().replace(/^/gm, '  ');
    const transform = 'transform:\n  - {field: x, type: string}\n';
    this.#pipeline = compilePipeline('test', `processors:\n${list}\n${transform}`, 'time', resources);
    this.warnings = this.#pipeline.warnings;
  }

  /** Returns the item after all processors as JSON with sorted keys; `dropped` if one drops it. */
  run(json: string): string {
    return this.runItem(this.item(json));
  }

  /** Returns an item of the pipeline. */
  item(json: string): Item {
    const item = new Item(new KeySlots(this.#pipeline.keys));
    for (const [key, value] of parseTree(json) as ObjectValue) {
      const slot = item.slots.slotOf(key);
      if (typeof value !== 'string') item.set(slot, value);
      else {
        // As texts of a body are held.
        const bytes = Buffer.from(`"${value}"`);
        item.setBytes(slot, bytes, 1, bytes.length - 1);
      }
    }
    return item;
  }

  /** Does the same with an item that exists. */
  runItem(item: Item): string {
    for (const { run } of this.#pipeline.steps) {
      const result = run(item);
      if (result === DROPPED) return 'dropped';
      if (result !== undefined) return canonicalJson(result);
    }
    const { keys } = item.slots;
    return canonicalJson(
      new Map(item.present().map((slot): [string, PipelineValue] => [keys[slot], item.get(slot) ?? null])),
    );
  }

  /** Returns the message of the error that an item causes. */
  failure(json: string): string {
    try {
      return `no error: ${this.run(json)}`;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

/** Runs processors over one item. */
export function runProcessors(processors: string, json: string): string {
  return new TestPipeline(processors).run(json);
}

/** Returns the message of the error that keeps processors from compiling. */
export function buildFailure(processors: string): string {
  try {
    new TestPipeline(processors);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
}
