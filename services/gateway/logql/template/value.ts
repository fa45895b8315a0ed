import { goFloat, goFloatText } from '../units.js';

/** A value in a template. */
export type TemplateValue = string | number | boolean | Date;

/** Largest text that a template makes, in characters. */
export const TEMPLATE_CHARS_MAX = 256 * 1024;

/** Why a template fails for a line. */
export class TemplateFailure extends Error {}

/** Returns a value as a template prints it. */
export function textOf(value: TemplateValue): string {
  if (typeof value === 'number') return goFloatText(value);
  if (value instanceof Date) return value.toISOString();
  return String(value);
}

/** Returns a value as a number; 0 for a text that is none. */
export function numberOf(value: TemplateValue): number {
  if (typeof value === 'number') return value;
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'boolean') return value ? 1 : 0;
  return goFloat(value.trim()) ?? 0;
}

/** Returns a value as a whole number; 0 for a text that is none. */
export function intOf(value: TemplateValue): number {
  const number = Math.trunc(numberOf(value));
  return Number.isFinite(number) ? number : 0;
}

/** Whether a condition holds: any value but empty texts, 0 and false. */
export function isTrue(value: TemplateValue): boolean {
  return value instanceof Date || (value !== '' && value !== 0 && value !== false);
}

/** Returns a text within the limit. @throws `TemplateFailure`. */
export function boundedText(text: string): string {
  if (text.length > TEMPLATE_CHARS_MAX) {
    throw new TemplateFailure(`a text is longer than ${TEMPLATE_CHARS_MAX} characters`);
  }
  return text;
}
