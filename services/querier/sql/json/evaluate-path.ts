import { AlmanacError } from '#shared/errors/almanac-error';

import type { JsonOperand, JsonPosition, JsonPredicate, JsonStep } from './path.js';

/** Values that one path may visit in one JSON value; a filter visits all for each. */
const VISITS_MAX = 1_000_000;

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Returns all values that a path leads to. @throws `execute_query` if the path visits too many values. */
export function findJson(root: unknown, steps: readonly JsonStep[]): Json[] {
  return new Search(root as Json).follow([root as Json], steps);
}

/** Returns whether a condition is true for a value. @throws `execute_query`. */
export function matchesJson(root: unknown, predicate: JsonPredicate): boolean {
  return new Search(root as Json).test(predicate, root as Json);
}

class Search {
  readonly #root: Json;
  #visits = 0;

  constructor(root: Json) {
    this.#root = root;
  }

  follow(from: readonly Json[], steps: readonly JsonStep[]): Json[] {
    let values = [...from];
    for (const step of steps) {
      const next: Json[] = [];
      for (const value of values) {
        this.#visit(1);
        next.push(...this.#step(value, step));
      }
      values = next;
    }
    return values;
  }

  test(predicate: JsonPredicate, current: Json): boolean {
    this.#visit(1);
    switch (predicate.kind) {
      case 'and':
        return predicate.parts.every((part) => this.test(part, current));
      case 'or':
        return predicate.parts.some((part) => this.test(part, current));
      case 'not':
        return !this.test(predicate.part, current);
      case 'exists':
        return this.#values(predicate.operand, current).length > 0;
      case 'compare': {
        const right = this.#values(predicate.right, current);
        return this.#values(predicate.left, current).some((left) => {
          this.#visit(right.length);
          return right.some((value) => compare(predicate.operator, left, value));
        });
      }
    }
  }

  #values(operand: JsonOperand, current: Json): Json[] {
    if (operand.kind === 'constant') return [operand.value];
    return this.follow([operand.fromRoot ? this.#root : current], operand.steps);
  }

  #step(value: Json, step: JsonStep): Json[] {
    if (step.kind === 'filter') {
      const candidates = isArray(value) ? value : [value];
      this.#visit(candidates.length);
      return candidates.filter((candidate) => this.test(step.filter, candidate));
    }
    if (isArray(value)) {
      if (step.kind === 'elements') this.#visit(value.length);
      return step.kind === 'elements' ? [...value] : step.kind === 'indexes' ? this.#elements(value, step.ranges) : [];
    }
    if (value === null || typeof value !== 'object') return [];
    if (step.kind === 'key') return Object.hasOwn(value, step.key) ? [value[step.key]] : [];
    return step.kind === 'members' ? Object.values(value) : [];
  }

  #elements(value: readonly Json[], ranges: readonly (readonly [JsonPosition, JsonPosition])[]): Json[] {
    const found: Json[] = [];
    for (const [from, to] of ranges) {
      const first = Math.max(indexOf(from, value.length), 0);
      const last = Math.min(indexOf(to, value.length), value.length - 1);
      this.#visit(Math.max(last - first, 0));
      for (let i = first; i <= last; i++) found.push(value[i]);
    }
    return found;
  }

  #visit(count: number): void {
    this.#visits += count;
    if (this.#visits > VISITS_MAX) {
      throw new AlmanacError('execute_query', `JSON path visits more than ${VISITS_MAX} values`);
    }
  }
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function indexOf({ fromLast, offset }: JsonPosition, length: number): number {
  return fromLast ? length - 1 + offset : offset;
}

/** Only scalars compare, and only with their own type; by order, only texts and numbers. */
function compare(operator: string, left: Json, right: Json): boolean {
  if (isComposite(left) || isComposite(right)) return false;
  if (operator === '==' || operator === '=') return left === right;
  if (operator === '!=' || operator === '<>') return left !== right;
  if (typeof left === 'string' && typeof right === 'string') return ordered(operator, left, right);
  return typeof left === 'number' && typeof right === 'number' && ordered(operator, left, right);
}

function isComposite(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}

function ordered<T extends string | number>(operator: string, left: T, right: T): boolean {
  switch (operator) {
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
    default:
      return String(left).startsWith(String(right));
  }
}
