import { computed } from '@preact/signals';

import { parameter } from '../core/route.js';
import { storedSignal } from '../core/stored.js';

/** The browser's own zone. */
export const BROWSER_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone that the user chose for all screens; a link may name another one. */
export const chosenZone = storedSignal(
  'zone',
  '',
  (value): value is string => typeof value === 'string' && isZone(value),
);

/** The IANA zone in which times are shown and typed. */
export const zone = computed(() => {
  const linked = parameter('tz');
  if (linked !== '' && isZone(linked)) return linked;
  return chosenZone.value === '' ? BROWSER_ZONE : chosenZone.value;
});

/** Returns all zones that the browser has, UTC first. */
export function allZones(): readonly string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC')];
}

function isZone(name: string): boolean {
  if (name === '') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
