import { INT64_MAX, INT64_MIN, type PipelineValue } from './value.js';

/** Types that a text can be converted to. */
export const TEXT_TYPES = ['int', 'long', 'float', 'double', 'boolean'] as const;
/** Type that a text can be converted to. */
export type TextType = (typeof TEXT_TYPES)[number];

const INT32_MAX = 2n ** 31n - 1n;
const INTEGER = /^[+-]?[0-9]{1,20}$/;
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** Converts a text; undefined if it is not of the type. */
export function typedText(text: string, type: TextType): PipelineValue | undefined {
  if (type === 'boolean') {
    const word = text.toLowerCase();
    return word === 'true' || word === 'false' ? word === 'true' : undefined;
  }
  if (type === 'int' || type === 'long') {
    if (!INTEGER.test(text)) return undefined;
    const [min, max] = type === 'int' ? [-INT32_MAX - 1n, INT32_MAX] : [INT64_MIN, INT64_MAX];
    const value = BigInt(text.replace('+', ''));
    return value >= min && value <= max ? value : undefined;
  }
  const value = DECIMAL.test(text) ? Number(text) : NaN;
  return Number.isFinite(value) ? value : undefined;
}
