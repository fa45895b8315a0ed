import { type Ast, textConstant } from '../syntax/ast.js';

/** An interval of fixed length, in ns, or of months. */
export interface ConstantInterval {
  readonly months: number;
  readonly ns: bigint;
}

const UNIT_NAMES: Readonly<Record<string, readonly [number, bigint]>> = (() => {
  const table: Record<string, readonly [number, bigint]> = {};
  const add = (names: string, months: number, ns: bigint): void => {
    for (const name of names.split(' ')) table[name] = [months, ns];
  };
  add('ns nanosecond nanoseconds', 0, 1n);
  add('us microsecond microseconds', 0, 1_000n);
  add('ms millis millisecond milliseconds', 0, 1_000_000n);
  add('s sec secs second seconds', 0, 1_000_000_000n);
  add('m min mins minute minutes', 0, 60_000_000_000n);
  add('h hr hrs hour hours', 0, 3_600_000_000_000n);
  add('d day days', 0, 86_400_000_000_000n);
  add('w week weeks', 0, 604_800_000_000_000n);
  add('mon mons month months', 1, 0n);
  add('y yr yrs year years', 12, 0n);
  return table;
})();

const FUNCTION_UNITS: Readonly<Record<string, string>> = {
  to_microseconds: 'us',
  to_milliseconds: 'ms',
  to_seconds: 's',
  to_minutes: 'm',
  to_hours: 'h',
  to_days: 'd',
  to_weeks: 'w',
  to_months: 'mon',
  to_years: 'y',
};

/**
 * Returns the length of a constant interval: `CAST('5 minute' AS INTERVAL)`, `to_minutes(5)`, or a plain text.
 *
 * @returns undefined for anything else, which the engine then computes.
 */
export function constantInterval(node: Ast): ConstantInterval | undefined {
  const text = textConstant(node);
  if (text !== undefined) return parseInterval(text);
  if (node.class === 'CAST' && node.cast_type?.id === 'INTERVAL' && node.child !== undefined) {
    return constantInterval(node.child);
  }
  const unit = node.class === 'FUNCTION' ? FUNCTION_UNITS[node.function_name ?? ''] : undefined;
  const count = unit === undefined ? undefined : wholeNumber(node.children?.[0]);
  return unit === undefined || count === undefined ? undefined : parseInterval(`${count} ${unit}`);
}

/** The engine parses `INTERVAL 5 minute` as `to_minutes(CAST(trunc(CAST(5 AS DOUBLE)) AS BIGINT))`. */
function wholeNumber(node: Ast | undefined): number | undefined {
  if (node === undefined) return undefined;
  if (node.class === 'CAST') return wholeNumber(node.child);
  if (node.class === 'FUNCTION' && node.function_name === 'trunc') return wholeNumber(node.children?.[0]);
  const value = node.class === 'CONSTANT' ? node.value?.value : undefined;
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** Parses `1 hour 30 minutes`, `3y2mon4h`, `-1h5m`, and ISO 8601 durations such as `P1DT2H`. */
export function parseInterval(text: string): ConstantInterval | undefined {
  const iso = parseIso(text);
  if (iso !== undefined) return iso;
  const part = /\s*([+-]?)(\d{1,15})\s*([a-z]+)\s*/gy;
  let months = 0;
  let ns = 0n;
  const lower = text.toLowerCase();
  let end = 0;
  for (let match = part.exec(lower); match !== null; match = part.exec(lower)) {
    const unit = UNIT_NAMES[match[3]] as readonly [number, bigint] | undefined;
    if (unit === undefined) return undefined;
    const sign = match[1] === '-' ? -1 : 1;
    months += sign * Number(match[2]) * unit[0];
    ns += BigInt(sign) * BigInt(match[2]) * unit[1];
    end = part.lastIndex;
  }
  return end === lower.length && end > 0 ? { months, ns } : undefined;
}

const DAY_SECONDS = 86_400;
/** Seconds of the fields of an ISO 8601 duration; a year counts 365 days and a month 30. */
const ISO_SECONDS = [365 * DAY_SECONDS, 30 * DAY_SECONDS, 7 * DAY_SECONDS, DAY_SECONDS, 3600, 60];
const ISO =
  /^\s*([+-]?)p(?:(\d+)y)?(?:(\d+)m)?(?:(\d+)w)?(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)(?:\.(\d{1,9}))?s)?)?\s*$/i;

function parseIso(text: string): ConstantInterval | undefined {
  const match = ISO.exec(text);
  if (match === null || !/\d/.test(text)) return undefined;
  const [, sign, ...fields] = match as (string | undefined)[];
  let seconds = BigInt(fields[6] ?? 0);
  for (const [i, each] of ISO_SECONDS.entries()) seconds += BigInt(fields[i] ?? 0) * BigInt(each);
  const ns = seconds * 1_000_000_000n + BigInt((fields[7] ?? '').padEnd(9, '0'));
  return { months: 0, ns: sign === '-' ? -ns : ns };
}

/** Rewrites the text of an interval for the engine, which reads neither ISO 8601 nor nanoseconds; those are dropped. */
export function engineInterval(text: string): string {
  const iso = parseIso(text);
  if (iso !== undefined) return `${iso.ns / 1000n} microseconds`;
  return text.replaceAll(/(\d+)\s*(?:ns|nanoseconds?)\b/gi, (_whole, count: string) => {
    return `${BigInt(count) / 1000n} microseconds`;
  });
}
