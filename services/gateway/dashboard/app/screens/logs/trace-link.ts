import { storedSignal } from '../../core/stored.js';
import type { LogLine } from './log-line.js';

const ID = /^[0-9a-f]{16,32}$/i;
const FIELDS = ['trace_id', 'traceid', 'traceId', 'trace.id'];
const JSON_FIELDS = ['structured_metadata', 'log_attributes', 'fields'];
const PATTERN_LENGTH_MAX = 500;

/** Finds the ID of a trace in lines without a column for it: its first group. */
export const DEFAULT_TRACE_PATTERN = '\\btrace[_-]?id["\']?\\s*[=:]\\s*["\']?([0-9a-fA-F]{16,32})\\b';

/** The pattern that the user has chosen. */
export const tracePattern = storedSignal(
  'logs-trace-pattern',
  DEFAULT_TRACE_PATTERN,
  (value): value is string => typeof value === 'string' && isTracePattern(value),
);

/** Whether a text is a regular expression that can be used. */
export function isTracePattern(text: string): boolean {
  return text.length <= PATTERN_LENGTH_MAX && compiled(text) !== undefined;
}

/** Returns the IDs of the trace and the span of a line. */
export function traceOf({ fields, text }: LogLine): { readonly traceId: string; readonly spanId: string } | undefined {
  const all = new Map(fields);
  for (const name of JSON_FIELDS) {
    for (const [member, value] of membersOf(fields.get(name))) if (!all.has(member)) all.set(member, value);
  }
  const named = FIELDS.map((name) => all.get(name)).find((value) => value !== undefined && ID.test(value));
  const traceId = named ?? compiled(tracePattern.value)?.exec(text.slice(0, 10_000))?.[1];
  if (traceId === undefined || !ID.test(traceId)) return undefined;
  return { traceId: traceId.toLowerCase(), spanId: all.get('span_id') ?? '' };
}

function membersOf(json: string | undefined): [string, string][] {
  if (json?.startsWith('{') !== true) return [];
  try {
    const members = Object.entries(JSON.parse(json) as Record<string, unknown>);
    return members.filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  } catch {
    return [];
  }
}

function compiled(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'i');
  } catch {
    return undefined;
  }
}
