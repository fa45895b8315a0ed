import { civilOf, civilText } from './civil.js';

/** Returns a time in a zone as `2026-11-21 17:26:59.123`. @param fractionDigits up to 9. */
export function nanosecondText(ns: bigint, zone: string, fractionDigits: number): string {
  const below = ((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const seconds = civilText(civilOf(Number((ns - below) / 1_000_000n), zone));
  return `${seconds}.${String(below).padStart(9, '0').slice(0, fractionDigits)}`;
}
