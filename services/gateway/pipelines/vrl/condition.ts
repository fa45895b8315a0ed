import { buildError, itemError } from '../build-error.js';
import { Held, type Item, type KeySlots } from '../item.js';
import type { ObjectValue } from '../values/value.js';
import { compileExpressions } from './compile.js';
import { ScriptAbort, ScriptFailure, ScriptMachine } from './machine.js';
import { parseScript } from './parse.js';
import type { Expression, PathTarget } from './syntax.js';
import { kindNames, Kinds } from './types.js';

const SOURCE_BYTES_MAX = 8 * 1024;

/** Decides something about an item. @throws `invalid_arguments` if the expression fails. */
export type Condition = (item: Item) => boolean;

/**
 * Compiles an expression of the scripting language that is a boolean. Only the fields that it names are read.
 *
 * @param nowNs returns the current time.
 * @throws `invalid_arguments` if it does not compile, can fail, or can be anything but a boolean.
 */
export function compileScriptCondition(
  source: string,
  slots: KeySlots,
  nowNs: () => bigint,
  warn: (text: string) => void,
): Condition {
  if (Buffer.byteLength(source) > SOURCE_BYTES_MAX) {
    throw buildError(`condition is larger than ${SOURCE_BYTES_MAX} bytes`);
  }
  const body = parseScript(source);
  const { run, type, warnings } = compileExpressions(source, body);
  if (type.kinds !== Kinds.boolean) {
    throw buildError(`Failed to compile VRL, a condition must be a boolean, not ${kindNames(type.kinds)}: ${source}`);
  }
  for (const warning of warnings) warn(`if: ${warning}`);
  const fast = textComparison(body, slots);
  if (fast !== undefined) return fast;
  const readEvent = eventReader(body, slots);
  // The clock is read only by expressions that mention it.
  const readNow = source.includes('now') ? nowNs : (): bigint => 0n;
  return (item) => {
    const machine = new ScriptMachine(readNow());
    machine.start(readEvent(item));
    try {
      return run(machine) === true;
    } catch (error) {
      if (!(error instanceof ScriptAbort) && !(error instanceof ScriptFailure)) throw error;
      throw itemError(`Failed to execute VRL, ${error.message}`);
    }
  };
}

/** Compiles `.key == "text"` and `.key != "text"`, the most frequent conditions, to a comparison of bytes. */
function textComparison([only, ...others]: readonly Expression[], slots: KeySlots): Condition | undefined {
  if (others.length > 0 || only?.kind !== 'binary') return undefined;
  const { operator, left, right } = only;
  if (operator !== '==' && operator !== '!=') return undefined;
  if (left.kind !== 'path' || right.kind !== 'literal' || typeof right.value !== 'string') return undefined;
  const { root, steps } = left.target;
  const [key, ...deeper] = steps;
  if (root.kind !== 'event' || typeof key !== 'string' || deeper.length > 0) return undefined;
  const slot = slots.slotOf(key);
  const text = right.value;
  const bytes = Buffer.from(text);
  const isEqual: Condition = (item) => {
    if (item.kinds[slot] === Held.text) return item.other[slot] === text;
    if (item.kinds[slot] !== Held.bytes) return false;
    const [from, to] = [item.low[slot], item.high[slot]];
    return to - from === bytes.length && bytes.compare(item.other[slot] as Buffer, from, to) === 0;
  };
  return operator === '==' ? isEqual : (item) => !isEqual(item);
}

/** Returns how to make the event of the fields that expressions read. */
function eventReader(body: readonly Expression[], slots: KeySlots): (item: Item) => ObjectValue {
  const keys = keysRead(body);
  if (keys === undefined) {
    return (item) => {
      const { keys: all } = item.slots;
      return new Map(item.present().map((slot) => [all[slot], item.get(slot) ?? null]));
    };
  }
  const read = [...keys].map((key) => [key, slots.slotOf(key)] as const);
  return (item) => {
    const event: ObjectValue = new Map();
    for (const [key, slot] of read) {
      const value = item.get(slot);
      if (value !== undefined) event.set(key, value);
    }
    return event;
  };
}

/** Returns the keys of the event that expressions read; undefined if they read all of it. */
function keysRead(body: readonly Expression[]): ReadonlySet<string> | undefined {
  const keys = new Set<string>();
  let isWhole = false;
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof Map) return;
    const { root, steps } = value as Partial<PathTarget>;
    if (root?.kind === 'event' && steps !== undefined) {
      const [key] = steps;
      if (typeof key === 'string') keys.add(key);
      else isWhole = true;
    }
    for (const member of Object.values(value)) visit(member);
  };
  visit(body);
  return isWhole ? undefined : keys;
}
