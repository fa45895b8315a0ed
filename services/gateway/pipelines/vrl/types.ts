import { Pattern } from '../text/pattern.js';
import { kindOf, type PipelineValue, type PipelineValueKind } from '../values/value.js';
import type { PathStep } from './syntax.js';

/** A value of a script; regular expressions exist only as arguments. */
export type ScriptValue = PipelineValue | Pattern;

/** Sets of kinds, as bits. */
export const Kinds = {
  null: 1,
  boolean: 2,
  integer: 4,
  float: 8,
  string: 16,
  timestamp: 32,
  array: 64,
  object: 128,
  regex: 256,
  number: 12,
  any: 255,
} as const;

const NAMES = ['null', 'boolean', 'integer', 'float', 'string', 'timestamp', 'array', 'object', 'regex'] as const;

/** What is known of a value before the script runs. */
export interface ScriptType {
  /** Set of kinds that it may have. */
  readonly kinds: number;
  /** Types of members of an object by key. */
  readonly members?: ReadonlyMap<string, ScriptType>;
  /** Kinds of all other members; none for literals. */
  readonly otherKinds?: number;
}

/** The type of a value of which nothing is known. */
export const ANY: ScriptType = { kinds: Kinds.any };

/** Returns the type of values of some kinds. */
export function typeOfKinds(kinds: number): ScriptType {
  return { kinds };
}

/** Returns the kind of a value as a bit. */
export function kindBit(value: ScriptValue): number {
  if (value instanceof Pattern) return Kinds.regex;
  return Kinds[kindOf(value)];
}

/** Returns the name of the kind of a value. */
export function kindName(value: ScriptValue): PipelineValueKind | 'regex' {
  return value instanceof Pattern ? 'regex' : kindOf(value);
}

/** Returns the names of kinds, for messages. */
export function kindNames(kinds: number): string {
  if ((kinds & Kinds.any) === Kinds.any) return 'any';
  return NAMES.filter((name) => (kinds & Kinds[name]) !== 0).join(' or ');
}

/** Returns the type of what a path finds in a value of a type; misses are null. */
export function scriptTypeAt(type: ScriptType, steps: readonly PathStep[]): ScriptType {
  let found = type;
  for (const step of steps) found = memberType(found, step);
  return found;
}

function memberType({ kinds, members, otherKinds = Kinds.any }: ScriptType, step: PathStep): ScriptType {
  const container = typeof step === 'string' ? Kinds.object : Kinds.array;
  if ((kinds & container) === 0) return typeOfKinds(Kinds.null);
  const known = typeof step === 'string' ? members?.get(step) : undefined;
  const mayMiss = kinds !== container;
  if (known !== undefined) return mayMiss ? { ...known, kinds: known.kinds | Kinds.null } : known;
  return typeOfKinds(otherKinds === 0 ? Kinds.null : otherKinds | Kinds.null);
}

/** Returns the type of a value after an assignment to a path in it. */
export function typeWith(type: ScriptType, steps: readonly PathStep[], value: ScriptType): ScriptType {
  if (steps.length === 0) return value;
  const [step, ...rest] = steps;
  if (typeof step !== 'string') return typeOfKinds(Kinds.array);
  const isObject = type.kinds === Kinds.object;
  const members = new Map(isObject ? type.members : undefined);
  members.set(step, typeWith(isObject ? memberType(type, step) : typeOfKinds(Kinds.null), rest, value));
  return { kinds: Kinds.object, members, otherKinds: isObject ? (type.otherKinds ?? Kinds.any) : Kinds.any };
}

/** Returns the type of a value that has one type or another. */
export function eitherType(a: ScriptType, b: ScriptType): ScriptType {
  if (a === b) return a;
  const members = new Map<string, ScriptType>();
  for (const [key, type] of a.members ?? []) {
    const other = b.members?.get(key);
    if (other !== undefined) members.set(key, eitherType(type, other));
  }
  return { kinds: a.kinds | b.kinds, members, otherKinds: Kinds.any };
}
