import { systemClock } from '#shared/clock/clock';

import { buildError, itemError } from '../build-error.js';
import type { Item } from '../item.js';
import { isArray, isObject, type ObjectValue } from '../values/value.js';
import { compileScript, ScriptResultError, type CompiledScript } from '../vrl/compile.js';
import { ScriptMachine, ScriptAbort, ScriptFailure } from '../vrl/machine.js';
import type { ScriptValue } from '../vrl/types.js';
import { DROPPED, required, type ProcessorKind, type StepResult } from './processor.js';

const SOURCE_BYTES_MAX = 64 * 1024;

/** Runs a script over the whole item; what it returns replaces the item (spec: pipelines 15). */
export const vrl: ProcessorKind = {
  name: 'vrl',
  build(options) {
    const source = required(options.text('source'), 'Processor vrl: missing field: source');
    if (Buffer.byteLength(source) > SOURCE_BYTES_MAX) {
      throw buildError(`script is larger than ${SOURCE_BYTES_MAX} bytes`);
    }
    const script = compiled(source);
    for (const warning of script.warnings) options.warn(warning);
    return (item) => {
      const machine = new ScriptMachine(systemClock.nowNs());
      machine.start(eventOf(item));
      return storeResult(item, resultOf(script, machine));
    };
  },
};

function compiled(source: string): CompiledScript {
  try {
    return compileScript(source);
  } catch (error) {
    if (error instanceof ScriptResultError) throw buildError(error.message);
    throw error;
  }
}

function eventOf(item: Item): ObjectValue {
  const { keys } = item.slots;
  return new Map(item.present().map((slot) => [keys[slot], item.get(slot) ?? null]));
}

function resultOf(script: CompiledScript, machine: ScriptMachine): ScriptValue {
  try {
    return script.run(machine);
  } catch (error) {
    if (error instanceof ScriptAbort || error instanceof ScriptFailure) {
      throw itemError(`Failed to execute VRL, ${error.message}`);
    }
    throw error;
  }
}

function storeResult(item: Item, result: ScriptValue): StepResult {
  if (result === null) return DROPPED;
  if (isObject(result as ObjectValue)) {
    item.clear();
    for (const [key, value] of result as ObjectValue) item.set(item.slots.slotOf(key), value);
    return undefined;
  }
  // Anything else is checked as the elements of a list are.
  const value = result as ObjectValue;
  return isArray(value) ? value : [value];
}
