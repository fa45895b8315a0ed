import { computed, signal } from '@preact/signals';

import { parameters, setParameters } from '../core/route.js';
import { DEFAULT_RANGE, moved, resolveRange, zoomed, type RangeText, type TimeRange } from './range.js';
import { zone } from './zones.js';

/** The range in the address of the page. */
export const pageRange = computed<RangeText>(() => ({
  from: parameters.value.get('from') ?? DEFAULT_RANGE.from,
  to: parameters.value.get('to') ?? DEFAULT_RANGE.to,
}));

/** Counts requests to load what the screen shows again: screens read it in the effect that loads. */
export const reloadCount = signal(0);

/** Loads what the screen shows again. */
export function reload(): void {
  reloadCount.value++;
}

/** Returns the bounds of the range now; those of the default range if the address has none that can be read. */
export function rangeNow(): TimeRange {
  const nowMs = Date.now();
  const range = resolveRange(pageRange.value, nowMs, zone.value);
  return range ?? { fromMs: nowMs - 3_600_000, toMs: nowMs };
}

/** Whether the range in the address can be read. */
export const isRangeValid = computed(() => resolveRange(pageRange.value, Date.now(), zone.value) !== undefined);

/** Changes the range; Back returns to the last one. */
export function setRange(range: RangeText | TimeRange): void {
  const text = 'from' in range ? range : { from: String(Math.round(range.fromMs)), to: String(Math.round(range.toMs)) };
  setParameters({ from: text.from, to: text.to });
}

/** Shows twice as much time. */
export function zoomOut(): void {
  setRange(zoomed(rangeNow(), 2));
}

/** Shows the time half a range before (-1) or after (1). */
export function moveRange(direction: -1 | 1): void {
  setRange(moved(rangeNow(), direction / 2));
}
