import { compareBytes } from '../../series/labels.js';

const RUNS = /\d+|\D+/g;

/** Orders texts as people do: runs of digits by their number, so that `cpu2` comes before `cpu10`. */
export function natural(one: string, other: string): number {
  const ones = one.match(RUNS) ?? [];
  const others = other.match(RUNS) ?? [];
  const length = Math.min(ones.length, others.length);
  for (let i = 0; i < length; i++) {
    if (ones[i] === others[i]) continue;
    const areNumbers = /^\d/.test(ones[i]) && /^\d/.test(others[i]);
    const difference = areNumbers
      ? compareNumbers(BigInt(ones[i]), BigInt(others[i]))
      : compareBytes(ones[i], others[i]);
    if (difference !== 0) return difference;
  }
  return ones.length - others.length || compareBytes(one, other);
}

function compareNumbers(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
