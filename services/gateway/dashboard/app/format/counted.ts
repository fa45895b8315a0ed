import { countText } from './numbers.js';

/** Returns a count with its noun, such as `1 line`, `2 000 lines`. @param noun in the singular, with a regular plural. */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${count === 1 ? noun : `${noun}s`}`;
}
