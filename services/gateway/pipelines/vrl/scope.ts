import { Pattern } from '../text/pattern.js';
import { withValueAt, type ScriptMachine } from './machine.js';
import type { AssignTarget, PathTarget } from './syntax.js';
import { ANY, eitherType, Kinds, typeOfKinds, typeWith, type ScriptValue, type ScriptType } from './types.js';

/** What is known at a place of a script: the types of the event and of the variables. */
interface Knowledge {
  event: ScriptType;
  readonly slots: Map<string, number>;
  readonly types: ScriptType[];
}

/** What is known after code that may not have run. */
export type Branch = Knowledge;

/** The event and the variables of a script while it is compiled. */
export class ScriptScope {
  #known: Knowledge = {
    event: { kinds: Kinds.object, members: new Map(), otherKinds: Kinds.any },
    slots: new Map(),
    types: [],
  };
  #slotCount = 0;

  /** Returns the slot of a variable; undefined if there is none of that name. */
  slotOf(name: string): number | undefined {
    return this.#known.slots.get(name);
  }

  typeOf(slot: number): ScriptType {
    return this.#known.types[slot] ?? ANY;
  }

  get eventType(): ScriptType {
    return this.#known.event;
  }

  set eventType(type: ScriptType) {
    this.#known.event = type;
  }

  /** Returns the slot of a variable, which it creates if there is none. @param isNew whether it hides another one. */
  declare(name: string, type: ScriptType, isNew = false): number {
    const known = isNew ? undefined : this.#known.slots.get(name);
    const slot = known ?? this.#slotCount++;
    this.#known.slots.set(name, slot);
    this.#known.types[slot] = type;
    return slot;
  }

  /** Compiles a block: variables that it creates end with it. */
  block<T>(compile: () => T): T {
    const before = new Map(this.#known.slots);
    try {
      return compile();
    } finally {
      const { slots } = this.#known;
      slots.clear();
      for (const [name, slot] of before) slots.set(name, slot);
    }
  }

  /** Compiles what may not run. `join` adds what it has changed. */
  branch<T>(compile: () => T): { readonly result: T; readonly after: Branch } {
    const { event, slots, types } = this.#known;
    const before = { event, slots: new Map(slots), types: [...types] };
    const result = this.block(compile);
    const after = this.#known;
    this.#known = before;
    return { result, after };
  }

  /** Takes into account that a branch may have run. */
  join(branch: Branch): void {
    this.#known.event = eitherType(this.#known.event, branch.event);
    for (const slot of this.#known.slots.values()) {
      this.#known.types[slot] = eitherType(this.typeOf(slot), branch.types[slot] ?? ANY);
    }
  }

  /** Takes into account that a branch has run. */
  follow(branch: Branch): void {
    this.#known.event = branch.event;
    for (const slot of this.#known.slots.values()) this.#known.types[slot] = branch.types[slot] ?? ANY;
  }

  /** Records the type that an assignment gives. */
  assign(target: AssignTarget, type: ScriptType): void {
    if (target === undefined) return;
    const { root, steps } = target;
    if (root.kind === 'event') this.#known.event = typeWith(this.#known.event, steps, type);
    else {
      const slot = this.slotOf(root.name);
      const before = slot === undefined ? typeOfKinds(Kinds.null) : this.typeOf(slot);
      this.declare(root.name, typeWith(before, steps, type));
    }
  }

  /** Returns how to store a value at a target whose type is recorded. */
  store(target: AssignTarget): (machine: ScriptMachine, value: ScriptValue) => void {
    if (target === undefined) return () => undefined;
    const { root, steps } = target;
    if (root.kind === 'event') {
      return (machine, value) => (machine.event = withValueAt(machine.event, steps, plainValue(value)));
    }
    const slot = this.slotOf(root.name) ?? 0;
    if (steps.length === 0) return (machine, value) => (machine.variables[slot] = value);
    return (machine, value) => {
      const before = machine.variables[slot] ?? null;
      machine.variables[slot] = withValueAt(plainValue(before), steps, plainValue(value));
    };
  }

  /** Returns how to read a path, and the type of its root; undefined if there is no such variable. */
  reader({
    root,
  }: PathTarget): { readonly type: ScriptType; readonly read: (machine: ScriptMachine) => ScriptValue } | undefined {
    if (root.kind === 'event') return { type: this.eventType, read: (machine) => machine.event };
    const slot = this.slotOf(root.name);
    if (slot === undefined) return undefined;
    return { type: this.typeOf(slot), read: (machine) => machine.variables[slot] ?? null };
  }
}

/** Returns a value that can be stored: regular expressions as their text. */
export function plainValue(value: ScriptValue): Exclude<ScriptValue, Pattern> {
  return value instanceof Pattern ? value.source : value;
}
