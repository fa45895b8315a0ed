import type { TimeUnit } from '#shared/schema/data-type';

/** Limits of each timestamp type in the engine, where the extreme values stand for infinity. */
const ENDS: Readonly<Record<TimeUnit, bigint>> = {
  s: 8_640_000_000_000n,
  ms: 8_640_000_000_000_000n,
  us: 8_640_000_000_000_000_000n,
  ns: 9_223_372_036_854_775_806n,
};

/** Returns a SQL timestamp constant of the unit's type; times beyond the type's range become its limit. */
export function timeLiteral(time: bigint, unit: TimeUnit): string {
  const end = ENDS[unit];
  const value = time > end ? end : time < -end ? -end : time;
  switch (unit) {
    case 'ns':
      return `make_timestamp_ns(${value})`;
    case 'us':
      return `make_timestamp(${value})`;
    case 'ms':
      return `make_timestamp(${value * 1000n})::TIMESTAMP_MS`;
    case 's':
      return `make_timestamp(${value * 1_000_000n})::TIMESTAMP_S`;
  }
}

/** Returns the SQL condition `from <= column < to`; an end that is undefined or beyond the type's range is omitted. */
export function timeCondition(
  column: string,
  unit: TimeUnit,
  { from, to }: { readonly from: bigint | undefined; readonly to: bigint | undefined },
): string {
  const end = ENDS[unit];
  const conditions: string[] = [];
  if (from !== undefined && from > -end) conditions.push(`${column} >= ${timeLiteral(from, unit)}`);
  if (to !== undefined && to <= end) conditions.push(`${column} < ${timeLiteral(to, unit)}`);
  return conditions.length === 0 ? 'true' : conditions.join(' AND ');
}
