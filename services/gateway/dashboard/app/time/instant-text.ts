import { civilOf, civilText, offsetMinutes, offsetText } from './civil.js';

/** Returns an instant as `2026-11-21 17:26:59 UTC+01:00`. */
export function instantText(ms: number, zone: string): string {
  const time = civilText(civilOf(ms, zone), ms % 1000 === 0 ? 0 : 3);
  return `${time} ${offsetText(offsetMinutes(ms, zone))}`;
}
