import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { UNIT_NS, type TimeUnit } from '#shared/schema/data-type';

import { call, cast, copy, integerConstant, operator, textNode, textConstant, type Ast } from '../syntax/ast.js';
import { ceilDivide, floorDivide, isInteger, literalInteger, timeOfLiteral, TYPE_OF_UNIT } from '../syntax/literals.js';
import { parseTimestampText } from '../syntax/timestamp-text.js';
import { argumentsOf, renamed, type FunctionContext, type FunctionRule } from './function.js';
import { constantInterval, type ConstantInterval } from './interval.js';
import { FORMATS_MAX, parsedTime } from './time-formats.js';

const DAY_NS = 86_400_000_000_000n;
/** Fixed steps of `date_trunc`. Weeks begin on Monday; 1970-01-01 was a Thursday. */
const STEPS_NS: Readonly<Record<string, bigint>> = {
  nanosecond: 1n,
  microsecond: 1_000n,
  millisecond: 1_000_000n,
  second: 1_000_000_000n,
  minute: 60_000_000_000n,
  hour: 3_600_000_000_000n,
  day: DAY_NS,
};

const now: FunctionRule = {
  names: ['now', 'get_current_timestamp', 'transaction_timestamp', 'current_timestamp'],
  rewrite: (_node, context) => context.timeConstant((run) => run.nowNs, 'ns'),
};

/**
 * `date_trunc('minute', ts)` in the unit of `ts`. The engine's own goes through microseconds; for fixed steps of a nanosecond
 * column integer arithmetic is exact and takes 13 ms instead of 21 (600,000 rows).
 */
const dateTrunc: FunctionRule = {
  names: ['date_trunc', 'datetrunc'],
  rewrite(node, context) {
    const [part, time] = argumentsOf(node, 2, 2);
    const unit = context.unitOf(time);
    const name = textConstant(part)?.toLowerCase().replace(/s$/, '');
    if (name === undefined || unit === undefined) return node;
    const step = STEPS_NS[name] as bigint | undefined;
    const constant = step === undefined ? undefined : roundedDown(time, step, context);
    if (constant !== undefined) return constant;
    if (step === undefined || (step === 1n && unit !== 'ns')) {
      return step === 1n ? time : context.typed(cast(node, TYPE_OF_UNIT[unit]), unit);
    }
    const truncated =
      unit === 'ns' ? binNs(time, step, 0n, context) : context.typed(cast(node, TYPE_OF_UNIT[unit]), unit);
    return context.bucketed(truncated, { time, stepNs: step, originNs: 0n });
  },
};

/**
 * `date_bin(interval, ts [, origin])`; the default origin is 1970-01-01. The result has the unit of `ts`, or nanoseconds if the
 * origin is a text.
 */
const dateBin: FunctionRule = {
  names: ['date_bin', 'time_bucket'],
  rewrite(node, context) {
    const [width, time, origin] = argumentsOf(node, 2, 3);
    const interval = constantInterval(width);
    if (interval?.months === 0 && interval.ns <= 0n) {
      throw new AlmanacError('plan_query', 'Failed to plan SQL: date_bin interval must be greater than 0');
    }
    const stepNs = interval?.months === 0 && origin === undefined ? interval.ns : undefined;
    const constant = stepNs === undefined ? undefined : roundedDown(time, stepNs, context);
    return constant ?? binned({ width: widthOf(width, interval), interval, time, origin }, context);
  },
};

/** Arguments of `date_bin`. */
interface BinArguments {
  /** For the engine. */
  readonly width: Ast;
  /** The same, if it is constant. */
  readonly interval: ConstantInterval | undefined;
  readonly time: Ast;
  readonly origin: Ast | undefined;
}

function binned({ width, interval, time, origin }: BinArguments, context: FunctionContext): Ast {
  const unit = context.unitOf(time);
  const originNs = origin === undefined ? 0n : originOf(origin);
  const isPlain = interval?.months === 0 && originNs !== undefined;
  if (unit === 'ns' && isPlain) {
    const bucket = binNs(time, interval.ns, originNs, context);
    return context.bucketed(bucket, { time, stepNs: interval.ns, originNs });
  }
  const from = origin === undefined ? cast(textNode('1970-01-01'), 'TIMESTAMP') : cast(origin, 'TIMESTAMP');
  const bucket = call('time_bucket', width, time, from);
  if (unit === undefined) return bucket;
  // A text as origin is a timestamp in nanoseconds, and so is the result.
  const result = origin !== undefined && textConstant(origin) !== undefined ? 'ns' : unit;
  const typed = context.typed(cast(bucket, TYPE_OF_UNIT[result]), result);
  if (!isPlain || result !== unit) return typed;
  return context.bucketed(typed, { time, stepNs: interval.ns, originNs });
}

/** Returns the multiple of a step at or before a constant; undefined if the time is no constant. */
function roundedDown(time: Ast, stepNs: bigint, context: FunctionContext): Ast | undefined {
  const [constant, unit] = [context.constantOf(time), context.unitOf(time)];
  if (constant === undefined || unit === undefined) return undefined;
  return context.timeConstant((run) => floorDivide(constant(run), stepNs) * stepNs, unit);
}

function widthOf(width: Ast, interval: ConstantInterval | undefined): Ast {
  if (interval === undefined) return textConstant(width) === undefined ? width : cast(width, 'INTERVAL');
  const sql = interval.months !== 0 ? `${interval.months} months` : `${ceilDivide(interval.ns, 1000n)} microseconds`;
  return cast(textNode(sql), 'INTERVAL');
}

function originOf(origin: Ast): bigint | undefined {
  const value = textConstant(origin.class === 'CAST' && origin.child !== undefined ? origin.child : origin);
  return value === undefined ? undefined : parseTimestampText(value);
}

/** `ts - ((ts - origin) mod step)` over ns since 1970, rounding down before 1970 too. */
function binNs(time: Ast, step: bigint, origin: bigint, context: FunctionContext): Ast {
  const literal = (value: bigint): Ast => context.perRun(() => String(value));
  const ns = (): Ast => call('epoch_ns', copy(time));
  const offset = origin % step;
  const shifted = offset === 0n ? ns() : operator('-', ns(), literal(offset));
  const rest = operator('%', operator('+', operator('%', shifted, literal(step)), literal(step)), literal(step));
  return context.typed(call('make_timestamp_ns', operator('-', ns(), rest)), 'ns');
}

/** `ts + interval` and `ts - interval` in the unit of `ts`; the engine returns microseconds. */
const shift: FunctionRule = {
  names: ['+', '-', 'date_add', 'date_sub'],
  rewrite(node, context) {
    const name = node.function_name ?? '';
    const sign = name === '-' || name === 'date_sub' ? '-' : '+';
    const [left, right] = node.children ?? [];
    if (right === undefined) return node;
    if (sign === '+' && context.unitOf(left) === undefined && context.unitOf(right) !== undefined && name === '+') {
      return shifted(right, left, sign, context) ?? node;
    }
    return name.startsWith('date_')
      ? shiftCall(left, right, sign, context)
      : (shiftAny(left, right, sign, context) ?? node);
  },
};

/** `date_add(time, interval)`, where the interval may be a text. */
function shiftCall(time: Ast, by: Ast, sign: '+' | '-', context: FunctionContext): Ast {
  const interval = context.typeOf(by) === 'text' ? context.cast(cast(by, 'INTERVAL')) : by;
  return shiftAny(time, interval, sign, context) ?? operator(sign, time, interval);
}

/** Shifts a timestamp or a date, which stays a date. */
function shiftAny(time: Ast, by: Ast, sign: '+' | '-', context: FunctionContext): Ast | undefined {
  if (context.typeOf(time) === 'date' && context.typeOf(by) === 'interval') {
    return context.typed(cast(operator(sign, time, by), 'DATE'), 'date');
  }
  return shifted(time, by, sign, context);
}

function shifted(time: Ast, by: Ast, sign: '+' | '-', context: FunctionContext): Ast | undefined {
  const unit = context.unitOf(time);
  if (unit === undefined || context.unitOf(by) !== undefined) return undefined;
  const interval = constantInterval(by);
  const constant = context.constantOf(time);
  if (constant !== undefined && interval !== undefined) {
    return context.timeConstant((run) => addInterval(constant(run), interval, sign === '-' ? -1 : 1), unit);
  }
  if (interval === undefined && by.class !== 'CAST' && by.class !== 'FUNCTION') return undefined;
  if (unit !== 'ns') return context.typed(truncatedTime(operator(sign, time, by), unit), unit);
  if (interval?.months === 0) {
    const ns = operator(
      sign,
      call('epoch_ns', time),
      context.perRun(() => `(${interval.ns})`),
    );
    return context.typed(call('make_timestamp_ns', ns), 'ns');
  }
  return context.typed(nsShift(time, by, sign), 'ns');
}

/** Builds a cast of a timestamp to a unit, which drops the digits below it; the engine would round them. */
export function truncatedTime(time: Ast, unit: TimeUnit): Ast {
  if (unit === 'ns') return cast(time, 'TIMESTAMP_NS');
  const micros = cast(time, 'TIMESTAMP');
  if (unit === 'us') return micros;
  return cast(call('date_trunc', textNode(unit === 's' ? 'second' : 'millisecond'), micros), TYPE_OF_UNIT[unit]);
}

/** Months are added in microseconds; the nanoseconds below are split off before and added afterwards. */
function nsShift(time: Ast, by: Ast, sign: '+' | '-'): Ast {
  const whole = operator(sign, cast(copy(time), 'TIMESTAMP'), by);
  const below = operator(
    '-',
    call('epoch_ns', copy(time)),
    call('epoch_ns', cast(cast(copy(time), 'TIMESTAMP'), 'TIMESTAMP_NS')),
  );
  return call('make_timestamp_ns', operator('+', call('epoch_ns', cast(whole, 'TIMESTAMP_NS')), below));
}

/** Largest date of JavaScript, milliseconds since 1970. */
const DATE_MS_MAX = 8_640_000_000_000_000n;

function outOfRange(): AlmanacError {
  return new AlmanacError('execute_query', 'Cast error: timestamp is out of the range of dates');
}

function addInterval(ns: bigint, interval: ConstantInterval, sign: 1 | -1): bigint {
  if (interval.months === 0) return ns + BigInt(sign) * interval.ns;
  const ms = ceilDivide(ns - 999_999n, 1_000_000n);
  if (ms > DATE_MS_MAX || ms < -DATE_MS_MAX) throw outOfRange();
  const below = ns - ms * 1_000_000n;
  const date = new Date(Number(ms));
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + sign * interval.months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  if (Number.isNaN(date.getTime())) throw outOfRange();
  return BigInt(date.getTime()) * 1_000_000n + below + BigInt(sign) * interval.ns;
}

/** `to_timestamp(n)` and the like: from a count to a timestamp without zone. */
const FROM_COUNTS: readonly (readonly [string, TimeUnit])[] = [
  ['to_timestamp_seconds', 's'],
  ['to_timestamp_millis', 'ms'],
  ['to_timestamp_micros', 'us'],
  ['to_timestamp_nanos', 'ns'],
];

const fromCounts: readonly FunctionRule[] = FROM_COUNTS.map(([name, unit]) => ({
  names: [name],
  rewrite(node, context) {
    const [count, ...formats] = argumentsOf(node, 1, FORMATS_MAX);
    if (formats.length > 0) return context.cast(cast(parsedTime(count, formats, context), TYPE_OF_UNIT[unit]));
    if (isPointInTime(count, context)) return context.cast(cast(count, TYPE_OF_UNIT[unit]));
    return countConstant(count, unit, unit, context) ?? context.typed(fromCount(count, unit), unit);
  },
}));

/** Returns whether a value is cast to a timestamp, and not counted. */
function isPointInTime(value: Ast, context: FunctionContext): boolean {
  const type = context.typeOf(value);
  return context.unitOf(value) !== undefined || type === 'text' || type === 'date';
}

/** Returns the timestamp of a whole number that is written in the query; undefined for anything else. */
function countConstant(count: Ast, counted: TimeUnit, unit: TimeUnit, context: FunctionContext): Ast | undefined {
  const literal = context.literalOf(count);
  if (literal === undefined || !isInteger(literal.kind)) return undefined;
  return context.timeConstant((run) => literalInteger(literal.in(run).value) * UNIT_NS[counted], unit);
}

const toTimestamp: FunctionRule = {
  names: ['to_timestamp', 'from_unixtime'],
  rewrite(node, context) {
    const [count, ...formats] = argumentsOf(node, 1, FORMATS_MAX);
    if (formats.length > 0) return context.cast(cast(parsedTime(count, formats, context), 'TIMESTAMP_NS'));
    if (isPointInTime(count, context)) return context.cast(cast(count, 'TIMESTAMP_NS'));
    const constant = countConstant(count, 's', 'ns', context);
    if (constant !== undefined) return constant;
    // The engine multiplies 32-bit integers as such.
    const seconds = context.typeOf(count) === 'int' ? cast(count, 'BIGINT') : count;
    const micros = operator('*', seconds, integerConstant(1_000_000));
    return context.typed(cast(call('make_timestamp', cast(micros, 'BIGINT')), 'TIMESTAMP_NS'), 'ns');
  },
};

const toUnixTime: FunctionRule = {
  names: ['to_unixtime'],
  rewrite(node, context) {
    const [time] = argumentsOf(node, 1, 1);
    const literal = context.literalOf(time);
    const seconds = (value: Ast): Ast => context.typed(cast(call('floor', call('epoch', value)), 'BIGINT'), 'int');
    if (context.unitOf(time) !== undefined) return seconds(time);
    // A text without an offset is in the session's zone.
    if (literal?.kind === 'text') {
      return seconds(context.timeConstant((run) => timeOfLiteral(literal.in(run), 'ns', run.zone), 'ns'));
    }
    if (context.typeOf(time) === 'int') return seconds(fromCount(time, 'ms'));
    return seconds(cast(time, context.typeOf(time) === 'text' ? 'TIMESTAMP_NS' : 'TIMESTAMP'));
  },
};

/** Builds a timestamp from a count of `unit` since 1970. */
export function fromCount(count: Ast, unit: TimeUnit): Ast {
  if (unit === 'ns') return call('make_timestamp_ns', cast(count, 'BIGINT'));
  const micros = operator('*', cast(count, 'BIGINT'), integerConstant(Number(UNIT_NS[unit] / 1000n)));
  return cast(call('make_timestamp', micros), TYPE_OF_UNIT[unit]);
}

/** Translates chrono's specifiers for fractions of a second to the engine's. */
const dateFormat: FunctionRule = {
  names: ['date_format', 'to_char'],
  rewrite(node, context) {
    const [instant, format] = argumentsOf(node, 2, 2);
    const time = context.typeOf(instant) === 'date' ? instant : inZone(instant, context);
    const value = textConstant(format);
    if (value === undefined) return call('strftime', time, format);
    const translated = value.replaceAll(
      /%\.?[369]?f/g,
      (spec) => (spec.startsWith('%.') ? '.' : '') + (spec.includes('3') ? '%g' : spec.includes('6') ? '%f' : '%n'),
    );
    return call('strftime', time, textNode(translated));
  },
};

/** Shows a timestamp in the session's time zone: as a timestamp with the local time. */
function inZone(time: Ast, context: FunctionContext): Ast {
  // The engine has zones by name only, so that a fixed offset is added.
  const zone = context.perRun(({ zone: { name } }) => quoteText(isFixed(name) ? 'UTC' : name));
  const fixed = context.perRun(({ zone: own }) => {
    return `INTERVAL '${isFixed(own.name) ? own.offsetMsAt(0) / 1000 : 0} seconds'`;
  });
  const micros = context.unitOf(time) === 'ns' ? call('make_timestamp', call('epoch_us', copy(time))) : time;
  const named = call('timezone', zone, call('timezone', textNode('UTC'), cast(micros, 'TIMESTAMP')));
  const local = operator('+', named, fixed);
  if (context.unitOf(time) !== 'ns') return local;
  // The offset is added to all digits of the timestamp.
  const offset = operator('-', call('epoch_ns', local), call('epoch_ns', copy(micros)));
  return call('make_timestamp_ns', operator('+', call('epoch_ns', time), offset));
}

function isFixed(zoneName: string): boolean {
  return /^[+-]/.test(zoneName);
}

const toDate: FunctionRule = {
  names: ['to_date'],
  rewrite(node, context) {
    const [text, ...formats] = argumentsOf(node, 1, FORMATS_MAX);
    return context.cast(cast(formats.length > 0 ? parsedTime(text, formats, context) : text, 'DATE'));
  },
};

/** Timestamps have no zone here, so that their local time is their own. */
const toLocalTime: FunctionRule = {
  names: ['to_local_time'],
  rewrite: (node) => argumentsOf(node, 1, 1)[0],
};

/** Functions of dates and times. */
export const TIME_FUNCTIONS: readonly FunctionRule[] = [
  now,
  dateTrunc,
  dateBin,
  shift,
  ...fromCounts,
  toTimestamp,
  toUnixTime,
  dateFormat,
  toDate,
  toLocalTime,
  renamed('today', 'current_date'),
];
