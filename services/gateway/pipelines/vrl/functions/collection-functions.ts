import { isArray, isObject, type ObjectValue, type PipelineValue } from '../../values/value.js';
import { areEqual } from '../equal.js';
import { ScriptFailure, valueAt, withoutValueAt, withValueAt, type ScriptMachine } from '../machine.js';
import type { PathStep } from '../syntax.js';
import { Kinds, type ScriptValue } from '../types.js';
import { Pattern } from '../../text/pattern.js';
import { defineFunctions, type Closure, type Parameter, type ScriptFunction } from './script-function.js';

const DEPTH_MAX = 64;
const array: Parameter = { name: 'value', kinds: Kinds.array };
const object: Parameter = { name: 'value', kinds: Kinds.object };
const container: Parameter = { name: 'value', kinds: Kinds.array | Kinds.object };
const item: Parameter = { name: 'item', kinds: Kinds.any };
const recursive: Parameter = { name: 'recursive', kinds: Kinds.boolean, isOptional: true };
const flag = (name: string): Parameter => ({ name, kinds: Kinds.boolean, isOptional: true });

/** Returns the path of an array with keys and positions. */
function stepsOf(path: readonly PipelineValue[]): PathStep[] {
  return path.map((step) => {
    if (typeof step === 'string') return step;
    if (typeof step === 'bigint') return Number(step);
    throw new ScriptFailure('path segment must be either string or integer');
  });
}

function plain(value: ScriptValue): PipelineValue {
  return value instanceof Pattern ? value.source : value;
}

function mapValues(value: PipelineValue, isRecursive: boolean, closure: Closure): PipelineValue {
  const changed = (member: PipelineValue): PipelineValue => {
    const inner = isRecursive && (isArray(member) || isObject(member)) ? mapValues(member, true, closure) : member;
    return plain(closure([inner]));
  };
  if (isArray(value)) return value.map(changed);
  return new Map([...(value as ObjectValue)].map(([key, member]) => [key, changed(member)]));
}

function mapKeys(value: ObjectValue, isRecursive: boolean, closure: Closure): ObjectValue {
  const result: ObjectValue = new Map();
  for (const [key, member] of value) {
    const name = plain(closure([key]));
    if (typeof name !== 'string') throw new ScriptFailure('map_keys needs a closure that returns a string');
    result.set(name, isRecursive && isObject(member) ? mapKeys(member, true, closure) : member);
  }
  return result;
}

function flattenInto(result: ObjectValue, value: ObjectValue, prefix: string, separator: string): void {
  for (const [key, member] of value) {
    const name = prefix === '' ? key : prefix + separator + key;
    if (isObject(member) && member.size > 0) flattenInto(result, member, name, separator);
    else result.set(name, member);
  }
}

function flattenArray(value: readonly PipelineValue[]): PipelineValue[] {
  return value.flatMap((element) => (isArray(element) ? flattenArray(element) : [element]));
}

function unflatten(value: ObjectValue, separator: string): PipelineValue {
  let result: PipelineValue = new Map<string, PipelineValue>();
  for (const [key, member] of value) result = withValueAt(result, key.split(separator).slice(0, DEPTH_MAX), member);
  return result;
}

interface CompactOptions {
  readonly recursive: boolean;
  readonly null: boolean;
  readonly string: boolean;
  readonly object: boolean;
  readonly array: boolean;
  readonly nullish: boolean;
}

function isDropped(value: PipelineValue, options: CompactOptions): boolean {
  if (value === null) return options.null;
  if (typeof value === 'string') {
    if (options.nullish && (value.trim() === '' || value === '-')) return true;
    return options.string && value === '';
  }
  if (isArray(value)) return options.array && value.length === 0;
  return isObject(value) && options.object && value.size === 0;
}

function compact(value: PipelineValue, options: CompactOptions): PipelineValue {
  const inner = (member: PipelineValue): PipelineValue => (options.recursive ? compact(member, options) : member);
  if (isArray(value)) return value.map(inner).filter((element) => !isDropped(element, options));
  if (!isObject(value)) return value;
  const members = [...value].map(([key, member]) => [key, inner(member)] as const);
  return new Map(members.filter(([, member]) => !isDropped(member, options)));
}

function merge(a: ObjectValue, b: ObjectValue, isDeep: boolean): ObjectValue {
  const merged: ObjectValue = new Map(a);
  for (const [key, member] of b) {
    const old = merged.get(key);
    merged.set(key, isDeep && isObject(old) && isObject(member) ? merge(old, member, true) : member);
  }
  return merged;
}

function unique(values: readonly PipelineValue[], machine: ScriptMachine): PipelineValue[] {
  const found: PipelineValue[] = [];
  for (const value of values) {
    machine.step(found.length + 1);
    if (!found.some((it) => areEqual(it, value))) found.push(value);
  }
  return found;
}

function chunks(value: PipelineValue, size: number): PipelineValue {
  if (size < 1) throw new ScriptFailure('"chunk_size" must be at least 1');
  const parts: PipelineValue[] = [];
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    for (let at = 0; at < bytes.length; at += size) parts.push(bytes.toString('utf8', at, at + size));
    return parts;
  }
  const elements = value as readonly PipelineValue[];
  for (let at = 0; at < elements.length; at += size) parts.push(elements.slice(at, at + size));
  return parts;
}

function zip(arrays: readonly PipelineValue[]): PipelineValue {
  if (!arrays.every(isArray)) throw new ScriptFailure('zip needs arrays');
  const length = Math.min(...arrays.map((it) => it.length));
  return Array.from({ length: arrays.length === 0 ? 0 : length }, (_, i) => arrays.map((it) => it[i]));
}

function fromEntries(entries: readonly PipelineValue[]): PipelineValue {
  return new Map(
    entries.map((entry): [string, PipelineValue] => {
      const pair = isObject(entry) ? [entry.get('key'), entry.get('value')] : isArray(entry) ? entry : [];
      if (typeof pair[0] !== 'string') throw new ScriptFailure('from_entries needs entries with a key');
      return [pair[0], pair[1] ?? null];
    }),
  );
}

function eachEntry(value: PipelineValue, visit: (key: PipelineValue, member: PipelineValue) => void): void {
  if (isArray(value)) for (const [i, element] of value.entries()) visit(BigInt(i), element);
  else for (const [key, member] of value as ObjectValue) visit(key, member);
}

function filtered(value: PipelineValue, closure: Closure): PipelineValue {
  const keeps = (key: PipelineValue, member: PipelineValue): boolean => {
    const result = closure([key, member]);
    if (typeof result !== 'boolean') throw new ScriptFailure('filter needs a closure that returns a boolean');
    return result;
  };
  if (isArray(value)) return value.filter((element, i) => keeps(BigInt(i), element));
  return new Map([...(value as ObjectValue)].filter(([key, member]) => keeps(key, member)));
}

const sameContainer: ScriptFunction['returns'] = ([type]) => (type?.kinds ?? Kinds.any) & (Kinds.array | Kinds.object);

/** Functions of arrays and objects. */
export const COLLECTION_FUNCTIONS = defineFunctions([
  {
    name: 'map_values',
    parameters: [container, recursive],
    returns: sameContainer,
    canFail: false,
    closureValues: 1,
    run: ([given, isRecursive], _machine, closure) => mapValues(given as PipelineValue, isRecursive === true, closure),
  },
  {
    name: 'map_keys',
    parameters: [object, recursive],
    returns: Kinds.object,
    canFail: false,
    closureValues: 1,
    run: ([given, isRecursive], _machine, closure) => mapKeys(given as ObjectValue, isRecursive === true, closure),
  },
  {
    name: 'filter',
    parameters: [container],
    returns: sameContainer,
    canFail: false,
    closureValues: 2,
    run: ([given], _machine, closure) => filtered(given as PipelineValue, closure),
  },
  {
    name: 'for_each',
    parameters: [container],
    returns: Kinds.null,
    canFail: false,
    closureValues: 2,
    run: ([given], _machine, closure) => {
      eachEntry(given as PipelineValue, (key, member) => void closure([key, member]));
      return null;
    },
  },
  {
    name: 'flatten',
    parameters: [container, { name: 'separator', kinds: Kinds.string, isOptional: true }],
    returns: sameContainer,
    canFail: false,
    run: ([given, separator = '.']) => {
      if (isArray(given as PipelineValue)) return flattenArray(given as readonly PipelineValue[]);
      const result: ObjectValue = new Map();
      flattenInto(result, given as ObjectValue, '', separator as string);
      return result;
    },
  },
  {
    name: 'unflatten',
    parameters: [object, { name: 'separator', kinds: Kinds.string, isOptional: true }],
    returns: Kinds.object,
    canFail: false,
    run: ([given, separator = '.']) => unflatten(given as ObjectValue, separator as string),
  },
  {
    name: 'compact',
    parameters: [container, ...['recursive', 'null', 'string', 'object', 'array', 'nullish'].map(flag)],
    returns: sameContainer,
    canFail: false,
    run: ([given, isRecursive, ofNull, ofString, ofObject, ofArray, nullish]) =>
      compact(given as PipelineValue, {
        recursive: isRecursive !== false,
        null: ofNull !== false,
        string: ofString !== false,
        object: ofObject !== false,
        array: ofArray !== false,
        nullish: nullish === true,
      }),
  },
  {
    name: 'keys',
    parameters: [object],
    returns: Kinds.array,
    canFail: false,
    run: ([given]) => [...(given as ObjectValue).keys()],
  },
  {
    name: 'values',
    parameters: [object],
    returns: Kinds.array,
    canFail: false,
    run: ([given]) => [...(given as ObjectValue).values()],
  },
  {
    name: 'merge',
    parameters: [{ name: 'to', kinds: Kinds.object }, { name: 'from', kinds: Kinds.object }, flag('deep')],
    returns: Kinds.object,
    canFail: false,
    run: ([to, from, deep]) => merge(to as ObjectValue, from as ObjectValue, deep === true),
  },
  {
    name: 'append',
    parameters: [array, { name: 'items', kinds: Kinds.array }],
    returns: Kinds.array,
    canFail: false,
    run: ([given, items]) => [...(given as readonly PipelineValue[]), ...(items as readonly PipelineValue[])],
  },
  {
    name: 'push',
    parameters: [array, item],
    returns: Kinds.array,
    canFail: false,
    run: ([given, element]) => [...(given as readonly PipelineValue[]), element as PipelineValue],
  },
  {
    name: 'pop',
    parameters: [array],
    returns: Kinds.array,
    canFail: false,
    run: ([given]) => (given as readonly PipelineValue[]).slice(0, -1),
  },
  {
    name: 'includes',
    parameters: [array, item],
    returns: Kinds.boolean,
    canFail: false,
    run: ([given, element]) => (given as readonly PipelineValue[]).some((it) => areEqual(it, element ?? null)),
  },
  {
    name: 'unique',
    parameters: [array],
    returns: Kinds.array,
    canFail: false,
    run: ([given], machine) => unique(given as readonly PipelineValue[], machine),
  },
  {
    name: 'chunks',
    parameters: [
      { name: 'value', kinds: Kinds.string | Kinds.array },
      { name: 'chunk_size', kinds: Kinds.integer },
    ],
    returns: Kinds.array,
    canFail: true,
    run: ([given, size]) => chunks(given as PipelineValue, Number(size)),
  },
  {
    name: 'zip',
    parameters: [
      { name: 'array_0', kinds: Kinds.array },
      { name: 'array_1', kinds: Kinds.array, isOptional: true },
    ],
    returns: Kinds.array,
    canFail: ([, second]) => second === undefined,
    run: ([first, second]) => {
      return zip(
        second === undefined ? (first as readonly PipelineValue[]) : [first as PipelineValue, second as PipelineValue],
      );
    },
  },
  {
    name: 'to_entries',
    parameters: [container],
    returns: Kinds.array,
    canFail: false,
    run: ([given]) => {
      const entries: PipelineValue[] = [];
      eachEntry(given as PipelineValue, (key, member) => {
        entries.push(
          new Map<string, PipelineValue>([
            ['key', key],
            ['value', member],
          ]),
        );
      });
      return entries;
    },
  },
  {
    name: 'from_entries',
    parameters: [array],
    returns: Kinds.object,
    canFail: true,
    run: ([given]) => fromEntries(given as readonly PipelineValue[]),
  },
  {
    name: 'get',
    parameters: [container, { name: 'path', kinds: Kinds.array }],
    returns: Kinds.any,
    canFail: true,
    run: ([given, path]) => valueAt(given ?? null, stepsOf(path as readonly PipelineValue[])),
  },
  {
    name: 'set',
    parameters: [container, { name: 'path', kinds: Kinds.array }, { name: 'data', kinds: Kinds.any }],
    returns: sameContainer,
    canFail: true,
    run: ([given, path, data]) => {
      return withValueAt(given as PipelineValue, stepsOf(path as readonly PipelineValue[]), data as PipelineValue);
    },
  },
  {
    name: 'remove',
    parameters: [container, { name: 'path', kinds: Kinds.array }, flag('compact')],
    returns: sameContainer,
    canFail: true,
    run: ([given, path, compacts]) => {
      const steps = stepsOf(path as readonly PipelineValue[]);
      return steps.length === 0 ? (given ?? null) : withoutValueAt(given as PipelineValue, steps, compacts === true);
    },
  },
]);
