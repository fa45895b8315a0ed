import { TIME_LIMITS, UNIT_NS, type TimeUnit } from '#shared/schema/data-type';

/** Returns the reason to reject a time. */
export function outsideRange(unit: TimeUnit): string {
  return `time outside range -${TIME_LIMITS[unit]} - ${TIME_LIMITS[unit]}`;
}

/**
 * Converts times to the table's unit, in place, rounding down.
 *
 * @returns rows whose time is out of range there, ascending.
 */
export function convertTimes(times: BigInt64Array, from: TimeUnit, to: TimeUnit): number[] {
  if (from === to) return rowsOutside(times, to);
  const limit = TIME_LIMITS[to];
  const outside: number[] = [];
  const isCoarser = UNIT_NS[to] > UNIT_NS[from];
  const factor = isCoarser ? UNIT_NS[to] / UNIT_NS[from] : UNIT_NS[from] / UNIT_NS[to];
  for (let row = 0; row < times.length; row++) {
    const time = isCoarser ? floorDivide(times[row], factor) : times[row] * factor;
    if (time < -limit || time > limit) outside.push(row);
    else times[row] = time;
  }
  return outside;
}

/** Returns the rows whose time is out of range, ascending. Reads words; only a time close to the limit becomes a BigInt. */
export function rowsOutside(times: BigInt64Array, unit: TimeUnit): number[] {
  const limit = TIME_LIMITS[unit];
  const surely = Number(limit) * 0.999;
  const words = new Int32Array(times.buffer, times.byteOffset, times.length * 2);
  const outside: number[] = [];
  for (let row = 0; row < times.length; row++) {
    const high = words[2 * row + 1] * 4294967296;
    if (high > -surely && high < surely) continue;
    const time = times[row];
    if (time < -limit || time > limit) outside.push(row);
  }
  return outside;
}

function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}
