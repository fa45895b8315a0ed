import { printFloat } from './float-text.js';
import type { Timestamp } from './timestamp.js';

/** An object: its members by key, in the order in which they were set. */
export type ObjectValue = Map<string, PipelineValue>;

/** A value in a pipeline. Integers have 64 bits and are bigints; a number is a float, never NaN. */
export type PipelineValue =
  null | boolean | bigint | number | string | Timestamp | readonly PipelineValue[] | ObjectValue;

/** Names of the kinds of values, as scripts and messages use them. */
export type PipelineValueKind = 'null' | 'boolean' | 'integer' | 'float' | 'string' | 'timestamp' | 'array' | 'object';

/** Integers of 64 bits. */
export const INT64_MIN = -(2n ** 63n);
/** Greatest integer of 64 bits. */
export const INT64_MAX = 2n ** 63n - 1n;

/** Whether a value is an array. */
export function isArray(value: PipelineValue | undefined): value is readonly PipelineValue[] {
  return Array.isArray(value);
}

/** Whether a value is an object. */
export function isObject(value: PipelineValue | undefined): value is ObjectValue {
  return value instanceof Map;
}

/** Returns the kind of a value. */
export function kindOf(value: PipelineValue): PipelineValueKind {
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'bigint':
      return 'integer';
    case 'number':
      return 'float';
    case 'string':
      return 'string';
    default:
      if (value === null) return 'null';
      if (isArray(value)) return 'array';
      return isObject(value) ? 'object' : 'timestamp';
  }
}

/** Returns a value as text: text as it is, arrays and objects as JSON (spec: pipelines 1). */
export function printValue(value: PipelineValue): string {
  if (typeof value === 'string') return value;
  if (value === null) return '<null>';
  if (typeof value === 'number') return printFloat(value);
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return isArray(value) || isObject(value) ? canonicalJson(value) : value.text();
}

/** Returns a value as compact JSON with sorted keys; timestamps as text. */
export function canonicalJson(value: PipelineValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) {
    const text = printValue(value);
    return typeof value === 'object' ? JSON.stringify(text) : text;
  }
  const keys = [...value.keys()].sort(compareKeys);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value.get(key) ?? null)}`).join(',')}}`;
}

/** Returns a value as error messages of GreptimeDB describe it, such as `Integer(5)` or `Bytes(b"x")`. */
export function describeValue(value: PipelineValue): string {
  switch (kindOf(value)) {
    case 'null':
      return 'Null';
    case 'boolean':
      return `Boolean(${value as boolean})`;
    case 'integer':
      return `Integer(${value as bigint})`;
    case 'float':
      return `Float(${printFloat(value as number)})`;
    case 'string':
      return `Bytes(b${shortened(JSON.stringify(value))})`;
    case 'timestamp':
      return `Timestamp(${(value as Timestamp).text()})`;
    case 'array':
      return `Array(${shortened(canonicalJson(value))})`;
    case 'object':
      return `Object(${shortened(canonicalJson(value))})`;
  }
}

const MESSAGE_TEXT_MAX = 200;
const CUT_MARK = '...';

/** Returns at most 200 characters of a text for a message. */
export function shortened(text: string): string {
  return text.length <= MESSAGE_TEXT_MAX ? text : text.slice(0, MESSAGE_TEXT_MAX) + CUT_MARK;
}

/**
 * Returns a message with `***` in place of texts that `shortened` cut: a pattern does not recognize the first half of a secret.
 */
export function withoutCutTexts(message: string): string {
  const first = message.indexOf(CUT_MARK, MESSAGE_TEXT_MAX);
  if (first < 0) return message;
  const end = message.lastIndexOf(CUT_MARK) + CUT_MARK.length;
  return `${message.slice(0, first - MESSAGE_TEXT_MAX)}***${message.slice(end)}`;
}

/** Compares keys by their bytes in UTF-8. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  // UTF-16 sorts like UTF-8 unless there are surrogates.
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const SURROGATE = /[\ud800-\udfff]/;
