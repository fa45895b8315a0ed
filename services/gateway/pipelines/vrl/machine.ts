import { Pattern } from '../text/pattern.js';
import { isArray, isObject, type ObjectValue, type PipelineValue } from '../values/value.js';
import type { PathStep } from './syntax.js';
import type { ScriptValue } from './types.js';

const STEPS_MAX = 1_000_000;
const BYTES_MAX = 16 * 1024 * 1024;
const INDEX_MAX = 100_000;

/** An error that a script can handle. */
export class ScriptFailure extends Error {}

/** Ends a script: an error that it cannot handle. */
export class ScriptAbort extends Error {}

/** Ends a script with a result. */
export class ScriptReturn extends Error {
  readonly value: ScriptValue;

  constructor(value: ScriptValue) {
    super('return');
    this.value = value;
  }
}

/** The state of a script that runs: event, variables, and what it has used. */
export class ScriptMachine {
  event: PipelineValue = null;
  readonly variables: ScriptValue[] = [];
  readonly nowNs: bigint;
  #steps = 0;
  #bytes = 0;

  constructor(nowNs: bigint) {
    this.nowNs = nowNs;
  }

  /** Begins the run over another event. */
  start(event: PipelineValue): void {
    this.event = event;
    this.variables.length = 0;
    this.#steps = this.#bytes = 0;
  }

  /** Counts work. @throws `ScriptAbort` beyond the limit. */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps > STEPS_MAX) throw new ScriptAbort(`script limit: more than ${STEPS_MAX} steps`);
  }

  /** Counts memory of a text or a list that a script makes. @throws `ScriptAbort` beyond the limit. */
  use(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > BYTES_MAX) throw new ScriptAbort(`script limit: more than ${BYTES_MAX} bytes`);
  }
}

/** Returns what a path finds in a value; null for a miss. */
export function valueAt(value: ScriptValue, steps: readonly PathStep[]): ScriptValue {
  let found: ScriptValue = value;
  for (const step of steps) {
    if (found instanceof Pattern) return null;
    if (typeof step === 'string') found = isObject(found) ? (found.get(step) ?? null) : null;
    else found = isArray(found) ? (found.at(step) ?? null) : null;
  }
  return found;
}

/** Whether a path finds a value, which may be null. */
export function existsAt(value: ScriptValue, steps: readonly PathStep[]): boolean {
  if (steps.length === 0) return true;
  const parent = valueAt(value, steps.slice(0, -1));
  const last = steps[steps.length - 1];
  if (parent instanceof Pattern) return false;
  if (typeof last === 'string') return isObject(parent) && parent.has(last);
  return isArray(parent) && parent.at(last) !== undefined;
}

/** Returns a copy of a value with another one at a path; scalars on the way are replaced. */
export function withValueAt(value: PipelineValue, steps: readonly PathStep[], given: PipelineValue): PipelineValue {
  if (steps.length === 0) return given;
  const [step, ...rest] = steps;
  if (typeof step === 'string') {
    const copy: ObjectValue = new Map(isObject(value) ? value : undefined);
    copy.set(step, withValueAt(copy.get(step) ?? null, rest, given));
    return copy;
  }
  const copy = isArray(value) ? [...value] : [];
  const index = step < 0 ? copy.length + step : step;
  if (index > INDEX_MAX) throw new ScriptAbort(`script limit: index ${index}`);
  if (index < 0) copy.unshift(withValueAt(null, rest, given), ...new Array<null>(-index - 1).fill(null));
  else {
    while (copy.length < index) copy.push(null);
    copy[index] = withValueAt(copy[index] ?? null, rest, given);
  }
  return copy;
}

/** Returns a copy of a value without what a path finds. @param compacts also without containers that become empty. */
export function withoutValueAt(value: PipelineValue, steps: readonly PathStep[], compacts: boolean): PipelineValue {
  const [step, ...rest] = steps;
  if (typeof step === 'string') {
    const inner = isObject(value) ? value.get(step) : undefined;
    if (!isObject(value) || inner === undefined) return value;
    const copy: ObjectValue = new Map(value);
    const left = rest.length === 0 ? undefined : withoutValueAt(inner, rest, compacts);
    if (left === undefined || (compacts && isEmpty(left))) copy.delete(step);
    else copy.set(step, left);
    return copy;
  }
  if (!isArray(value)) return value;
  const index = step < 0 ? value.length + step : step;
  const inner = value.at(index);
  if (inner === undefined || index < 0) return value;
  const left = rest.length === 0 ? undefined : withoutValueAt(inner, rest, compacts);
  return left === undefined ? value.toSpliced(index, 1) : value.with(index, left);
}

function isEmpty(value: PipelineValue): boolean {
  return isObject(value) ? value.size === 0 : isArray(value) && value.length === 0;
}
