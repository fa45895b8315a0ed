import { SHOWN_UNITS, type Profile } from './stacks.js';

/** Lines of a report. */
const LINES_MAX = 500;

/** Prints a profile: one line for each function, those first that took most themselves. */
export function profileText(profile: Profile): string {
  const { kind, frames, samples, durationMs } = profile;
  const own = new Float64Array(frames.length);
  const all = new Float64Array(frames.length);
  // The last sample that counted a frame, so that a recursive call is counted once.
  const counted = new Int32Array(frames.length).fill(-1);
  let total = 0;
  for (const [i, { stack, value }] of samples.entries()) {
    total += value;
    own[stack[stack.length - 1]] += value;
    for (const frame of stack) {
      if (counted[frame] !== i) all[frame] += value;
      counted[frame] = i;
    }
  }
  const { unit, factor } = SHOWN_UNITS[kind];
  const row = (a: string, b: string, c: string, d: string, rest: string): string => {
    return `${a.padStart(12)} ${b.padStart(7)} ${c.padStart(12)} ${d.padStart(7)}  ${rest}\n`;
  };
  const amount = (value: number): string => (value / factor).toFixed(1);
  const share = (value: number): string => `${total === 0 ? '0.0' : ((100 * value) / total).toFixed(1)}%`;
  const order = Array.from(frames.keys()).sort((a, b) => own[b] - own[a] || all[b] - all[a]);
  const lines = order.slice(0, LINES_MAX).map((i) => {
    const { name, file, line } = frames[i];
    const place = file === '' ? '' : `  ${file}${line === 0 ? '' : `:${line}`}`;
    return row(amount(own[i]), share(own[i]), amount(all[i]), share(all[i]), oneLine(`${name}${place}`));
  });
  const during = durationMs === 0 ? '' : ` in ${(durationMs / 1000).toFixed(1)} s`;
  return (
    `${kind}: ${amount(total)} ${unit}${during}\n` +
    row(`self ${unit}`, 'share', `total ${unit}`, 'share', 'function') +
    lines.join('')
  );
}

/** Replaces characters that would break a line or a terminal. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ');
}
