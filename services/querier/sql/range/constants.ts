import type { Zone } from '#shared/time/zone';

import { parseInterval } from '../functions/interval.js';
import { Cursor } from '../syntax/cursor.js';
import { Kind } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { parseTimestampText } from '../syntax/timestamp-text.js';
import { invalidRange, spanText, unplannedRange } from './spans.js';

/** What constant expressions depend on. */
export interface ConstantContext {
  readonly nowNs: bigint;
  readonly zone: Zone;
}

interface Constant {
  readonly kind: 'interval' | 'time';
  readonly ns: bigint;
  readonly months: number;
}

/** A PromQL duration: each unit at most once, the longest first. */
const DURATION = /^(?=\d)(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const UNITS_MS = [31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1];
const MS_NS = 1_000_000n;
/** Longest duration: 10,000 years. */
const DURATION_MS_MAX = 315_576_000_000_000;

/**
 * Returns the duration of RANGE or ALIGN in milliseconds.
 *
 * @throws `invalid_syntax` for a malformed text; `plan_query` for durations that are not positive, not constant, or of months.
 */
export function durationOf(span: QueryText, context: ConstantContext): number {
  const { tokens, from, to } = span;
  if (tokens.kind(from) === Kind.text) {
    const text = tokens.textValue(from);
    const ms = promDurationMs(text.trim());
    if (ms === 0) throw unplannedRange('duration must be greater than 0');
    if (ms === undefined) {
      throw invalidRange(`sql parser error: not a valid duration string: ${text.slice(0, 100)}`);
    }
    return checkedMs(ms, span);
  }
  const value = evaluate({ tokens, from: from + 1, to: to - 1 }, context);
  if (value !== undefined && value.months !== 0) {
    throw unplannedRange(`Year or month interval is not allowed in range query: ${inside(span)}`);
  }
  if (value?.kind !== 'interval') throw illegalArgument(span);
  return checkedMs(Number(value.ns / MS_NS), span);
}

function promDurationMs(text: string): number | undefined {
  const counts = DURATION.exec(text)?.slice(1);
  return counts?.reduce((sum, count: string | undefined, i) => sum + Number(count ?? 0) * UNITS_MS[i], 0);
}

function checkedMs(ms: number, span: QueryText): number {
  if (!Number.isInteger(ms) || ms <= 0 || ms > DURATION_MS_MAX) throw illegalArgument(span);
  return ms;
}

function illegalArgument(span: QueryText): Error {
  return unplannedRange(`Illegal argument \`${inside(span).slice(0, 200)}\` in range select query`);
}

/** Returns a duration as names of columns have it: without quotes or parentheses. */
export function inside({ tokens, from, to }: QueryText): string {
  if (tokens.kind(from) === Kind.text) return tokens.textValue(from);
  return spanText({ tokens, from: from + 1, to: to - 1 });
}

/**
 * Returns the origin of the slots in milliseconds since 1970; by default, the offset of the session's time zone.
 *
 * @throws `plan_query`.
 */
export function originOf(span: QueryText | undefined, context: ConstantContext): number {
  if (span === undefined) return context.zone.offsetMsOfLocal(0);
  const { tokens, from, to } = span;
  if (tokens.isWord(from, 'NOW')) return floorMs(context.nowNs);
  if (tokens.isSymbol(from, '(')) {
    const value = evaluate({ tokens, from: from + 1, to: to - 1 }, context);
    if (value?.months !== 0) throw illegalArgument(span);
    return floorMs(value.ns);
  }
  const text = tokens.kind(from) === Kind.text ? tokens.textValue(from) : tokens.raw(from);
  const ns = parseTimestampText(text, context.zone);
  if (ns === undefined) {
    const raw = text.slice(0, 100);
    throw unplannedRange(
      `Illegal \`align to\` argument \`${raw}\` in range select query, can't be parse as NOW/CALENDAR/Timestamp, ` +
        `error: Failed to parse a string into Timestamp, raw string: ${raw}`,
    );
  }
  return floorMs(ns);
}

function floorMs(ns: bigint): number {
  return Number((ns - (((ns % MS_NS) + MS_NS) % MS_NS)) / MS_NS);
}

function evaluate({ tokens, from, to }: QueryText, context: ConstantContext): Constant | undefined {
  const cursor = new Cursor(tokens, from, to);
  const value = sum(cursor, context);
  return cursor.done ? value : undefined;
}

/** Evaluates sums and differences of intervals and times; undefined for anything else. */
function sum(cursor: Cursor, context: ConstantContext): Constant | undefined {
  let value = term(cursor, context);
  while (cursor.seesSymbol('+') || cursor.seesSymbol('-')) {
    const sign = cursor.acceptSymbol('-') ? -1 : 1;
    if (sign === 1) cursor.acceptSymbol('+');
    const right = term(cursor, context);
    if (value === undefined || right === undefined) return undefined;
    value = added(value, right, sign);
  }
  return value;
}

function added(left: Constant, right: Constant, sign: 1 | -1): Constant | undefined {
  const times = [left, right].filter(({ kind }) => kind === 'time').length;
  if (times === 2 && sign === 1) return undefined;
  if (sign === -1 && left.kind === 'interval' && right.kind === 'time') return undefined;
  return {
    kind: times === 1 ? 'time' : 'interval',
    ns: left.ns + BigInt(sign) * right.ns,
    months: left.months + sign * right.months,
  };
}

function term(cursor: Cursor, context: ConstantContext): Constant | undefined {
  if (cursor.acceptSymbol('(')) {
    const value = sum(cursor, context);
    return cursor.acceptSymbol(')') ? value : undefined;
  }
  if (cursor.accept('NOW') || cursor.accept('CURRENT_TIMESTAMP')) {
    if (cursor.acceptSymbol('(') && !cursor.acceptSymbol(')')) return undefined;
    return { kind: 'time', ns: context.nowNs, months: 0 };
  }
  return cursor.accept('INTERVAL') ? intervalTerm(cursor) : castTerm(cursor, context);
}

/** Reads `'5' minute` or `'5 minute'` after INTERVAL. */
function intervalTerm(cursor: Cursor): Constant | undefined {
  const text = constantText(cursor);
  const { tokens, at } = cursor;
  const hasUnit = text !== undefined && !cursor.done && tokens.kind(at) === Kind.word;
  if (hasUnit) cursor.at++;
  return text === undefined ? undefined : intervalOf(hasUnit ? `${text} ${tokens.raw(at)}` : text);
}

/** Reads `'5 minute'::INTERVAL` or `'2024-01-01'::TIMESTAMP`. */
function castTerm(cursor: Cursor, context: ConstantContext): Constant | undefined {
  const text = constantText(cursor);
  if (text === undefined || !cursor.acceptSymbol('::')) return undefined;
  if (cursor.accept('INTERVAL')) return intervalOf(text);
  const ns = cursor.accept('TIMESTAMP') ? parseTimestampText(text, context.zone) : undefined;
  return ns === undefined ? undefined : { kind: 'time', ns, months: 0 };
}

function constantText(cursor: Cursor): string | undefined {
  const { tokens, at } = cursor;
  if (cursor.done) return undefined;
  if (tokens.kind(at) === Kind.text) return cursor.text('interval');
  return tokens.kind(at) === Kind.integer ? tokens.raw(cursor.at++) : undefined;
}

function intervalOf(text: string): Constant | undefined {
  const value = parseInterval(text.toLowerCase());
  return value === undefined ? undefined : { kind: 'interval', ...value };
}
