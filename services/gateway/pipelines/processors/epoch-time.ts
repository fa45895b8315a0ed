import type { TimeUnit } from '#shared/schema/data-type';

import type { Item } from '../item.js';
import { PER_SECOND } from '../transform/time-unit.js';
import { Timestamp } from '../values/timestamp.js';

/** Sets a field to a time given as a count since 1970. @returns false if the calendar does not have it. */
export function setTimeOfCount(item: Item, slot: number, count: number | bigint, unit: TimeUnit): boolean {
  const perSecond = PER_SECOND[unit];
  if (count === Infinity || count === -Infinity) return false;
  if (typeof count === 'bigint' || !Number.isSafeInteger(count)) {
    const time = Timestamp.ofNs(BigInt(count) * (1_000_000_000n / BigInt(perSecond)));
    if (time.isValid) item.setTimestamp(slot, time.seconds, time.nanos);
    return time.isValid;
  }
  let seconds = Math.floor(count / perSecond);
  // The quotient may have been rounded up to the next second.
  if (seconds * perSecond > count) seconds--;
  const nanos = (count - seconds * perSecond) * (1_000_000_000 / perSecond);
  const isValid = new Timestamp(seconds, nanos).isValid;
  if (isValid) item.setTimestamp(slot, seconds, nanos);
  return isValid;
}
