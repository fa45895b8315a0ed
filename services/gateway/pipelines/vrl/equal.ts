import { Pattern } from '../text/pattern.js';
import { Timestamp } from '../values/timestamp.js';
import { isArray, isObject } from '../values/value.js';
import type { ScriptValue } from './types.js';

/** Whether two values are equal: integers and floats by value, arrays and objects by their members. */
export function areEqual(a: ScriptValue, b: ScriptValue): boolean {
  if (a instanceof Pattern || b instanceof Pattern) return a === b;
  // Bigints and numbers compare by value.
  if (isNumber(a) && isNumber(b)) return a == b; // eslint-disable-line eqeqeq
  if (isArray(a)) return isArray(b) && a.length === b.length && a.every((element, i) => areEqual(element, b[i]));
  if (isObject(a)) {
    if (!isObject(b) || a.size !== b.size) return false;
    return [...a].every(([key, member]) => {
      const other = b.get(key);
      return other !== undefined && areEqual(member, other);
    });
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && a.equals(b);
  return a === b;
}

/** Whether a value is an integer or a float. */
export function isNumber(value: ScriptValue | undefined): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number';
}
