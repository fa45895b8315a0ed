import { timeLiteral } from '#shared/duckdb/time-literal';
import { AlmanacError } from '#shared/errors/almanac-error';
import { TIME_LIMITS, UNIT_NS, type TimeUnit } from '#shared/schema/data-type';

import type { TimeConstant } from '../functions/function.js';
import { ceilDivide, floorDivide, TYPE_OF_UNIT } from '../syntax/literals.js';

/** Drops the digits below a unit. */
export function truncated(value: TimeConstant, unit: TimeUnit): TimeConstant {
  return (run) => floorDivide(value(run), UNIT_NS[unit]) * UNIT_NS[unit];
}

/** Returns the literal of a timestamp, without the digits below its unit. @throws `execute_query` if the engine has none. */
export function timeConstantSql(ns: bigint, unit: TimeUnit): string {
  const count = floorDivide(ns, UNIT_NS[unit]);
  if (count > TIME_LIMITS[unit] || count < -TIME_LIMITS[unit]) {
    throw new AlmanacError('execute_query', `Cast error: timestamp is out of the range of ${TYPE_OF_UNIT[unit]}`);
  }
  return timeLiteral(count, unit);
}

const FLIPPED: Readonly<Record<string, string>> = {
  COMPARE_GREATERTHAN: 'COMPARE_LESSTHAN',
  COMPARE_GREATERTHANOREQUALTO: 'COMPARE_LESSTHANOREQUALTO',
  COMPARE_LESSTHAN: 'COMPARE_GREATERTHAN',
  COMPARE_LESSTHANOREQUALTO: 'COMPARE_GREATERTHANOREQUALTO',
};

/** Returns the comparison operator with its operands swapped. */
export function flipped(comparison: string): string {
  return FLIPPED[comparison] ?? comparison;
}

/** Returns a constant of the column's unit that is equivalent, in this comparison, to one with finer digits. */
export function comparedSql(ns: bigint, unit: TimeUnit, comparison: string): string {
  const step = UNIT_NS[unit];
  if (ns % step === 0n) return timeLiteral(ns / step, unit);
  const roundsUp = comparison === 'COMPARE_GREATERTHANOREQUALTO' || comparison === 'COMPARE_LESSTHAN';
  const roundsDown = comparison === 'COMPARE_LESSTHANOREQUALTO' || comparison === 'COMPARE_GREATERTHAN';
  if (roundsUp) return timeLiteral(ceilDivide(ns, step), unit);
  return roundsDown ? timeLiteral(floorDivide(ns, step), unit) : timeLiteral(ns, 'ns');
}
