import { AlmanacError } from '#shared/errors/almanac-error';

import { isItemError } from './build-error.js';
import { Held, type Item } from './item.js';
import { DROPPED, type Step, type StepResult } from './processors/processor.js';
import type { ObjectValue } from './values/value.js';

/** Key of the failure that the processors of `on_failure` can read. */
export const ERROR_KEY = '_error';

/** Options that every processor has (spec: pipelines 20.2). */
export interface GuardOptions {
  /** Whether the processor runs on an item; undefined if it always does. */
  readonly condition: ((item: Item) => boolean) | undefined;
  readonly ignoresFailure: boolean;
  /** Processors that run when this one fails; undefined if there are none. */
  readonly onFailure: Step | undefined;
  /** What is known of the processor, for `_error`. */
  readonly place: { readonly processor: string; readonly index: number; readonly tag: string | undefined };
}

/** Adds conditions and failure handling to a processor. A processor without such options stays as it is. */
export function guarded(run: Step, { condition, ignoresFailure, onFailure, place }: GuardOptions, slot: number): Step {
  const conditional: Step = condition === undefined ? run : (item) => (condition(item) ? run(item) : undefined);
  const handled: Step =
    onFailure === undefined
      ? conditional
      : (item) =>
          attempt(
            () => conditional(item),
            (error) => handle(item, slot, errorValue(error, place), onFailure),
          );
  if (!ignoresFailure) return handled;
  return (item) =>
    attempt(
      () => handled(item),
      () => undefined,
    );
}

function attempt(run: () => StepResult, onFailure: (error: AlmanacError) => StepResult): StepResult {
  try {
    return run();
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    if (!isItemError(error)) throw error;
    return onFailure(error);
  }
}

/** Runs the processors of `on_failure`; the failure is a field of the item until they have run. */
function handle(item: Item, slot: number, error: ObjectValue, onFailure: Step): StepResult {
  const outer = item.field(slot);
  item.set(slot, error);
  try {
    return onFailure(item);
  } finally {
    if (outer.kind === Held.absent) item.remove(slot);
    else item.setField(slot, outer);
  }
}

function errorValue({ publicMessage }: AlmanacError, { processor, index, tag }: GuardOptions['place']): ObjectValue {
  const error: ObjectValue = new Map();
  error.set('message', publicMessage);
  error.set('processor', processor);
  error.set('index', BigInt(index));
  if (tag !== undefined) error.set('tag', tag);
  return error;
}

/** Joins processors to one that runs them in their order. @throws `invalid_arguments` if one but the last makes rows. */
export function joinedSteps(steps: readonly Step[], failure: (text: string) => Error): Step {
  return (item) => {
    for (let i = 0; i < steps.length; i++) {
      const result = steps[i](item);
      if (result === undefined) continue;
      if (result !== DROPPED && i < steps.length - 1) throw failure('Top level value must be map');
      return result;
    }
    return undefined;
  };
}
