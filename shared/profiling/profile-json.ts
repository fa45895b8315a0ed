import { PROFILE_UNITS, type Profile } from './stacks.js';

/**
 * Returns a profile as JSON: `{"unit","total","duration_ms","frames":[{"name","file","line"}],"stacks":[[frame, ..]],"values"}`.
 *
 * A stack has positions in `frames`, the outermost call first; each occurs once, and `values` has what it took, in `unit`.
 */
export function profileJson({ kind, durationMs, frames, samples }: Profile): string {
  const taken = new Map<string, { readonly stack: readonly number[]; value: number }>();
  let total = 0;
  for (const { stack, value } of samples) {
    const whole = Math.round(value);
    if (whole === 0) continue;
    total += whole;
    const key = stack.join(' ');
    const known = taken.get(key);
    if (known === undefined) taken.set(key, { stack, value: whole });
    else known.value += whole;
  }
  const all = [...taken.values()];
  return JSON.stringify({
    unit: PROFILE_UNITS[kind],
    total,
    duration_ms: Math.round(durationMs),
    frames: frames.map(({ name, file, line }) => ({ name, file, line })),
    stacks: all.map(({ stack }) => stack),
    values: all.map(({ value }) => value),
  });
}
