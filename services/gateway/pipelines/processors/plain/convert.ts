import { itemError } from '../../build-error.js';
import { TEXT_TYPES, typedText, type TextType } from '../../values/typed-text.js';
import { describeValue, isArray, isObject, printValue, type PipelineValue } from '../../values/value.js';
import { eachField, required, type ProcessorKind } from '../processor.js';

const TYPES = [...TEXT_TYPES, 'string', 'auto'] as const;
type ConvertType = (typeof TYPES)[number];
/** What `auto` tries, in this order. */
const AUTOMATIC: readonly TextType[] = ['long', 'double', 'boolean'];

/** Converts fields, and the elements of arrays, to another type. */
export const convert: ProcessorKind = {
  name: 'convert',
  build(options, slots) {
    required(options.text('type'), 'Processor convert: missing field: type');
    const type = options.oneOf('type', TYPES, 'auto', (given) => {
      return `Processor convert: unknown type "${given}": use one of ${TYPES.join(', ')}`;
    });
    return eachField('convert', options, slots, (item, { from, to }) => {
      item.set(to, convertedValue(item.get(from) ?? null, type));
    });
  },
};

function convertedValue(value: PipelineValue, type: ConvertType): PipelineValue {
  if (isArray(value)) return value.map((element) => convertedValue(element, type));
  if (value === null || isObject(value)) return type === 'string' && value !== null ? printValue(value) : value;
  const text = printValue(value);
  if (type === 'string') return text;
  if (type === 'auto') {
    if (typeof value !== 'string') return value;
    for (const it of AUTOMATIC) {
      const found = typedText(text, it);
      if (found !== undefined) return found;
    }
    return value;
  }
  // A whole float is an integer, too.
  const converted = typedText(typeof value === 'string' ? text.trim() : text, type);
  if (converted !== undefined) return converted;
  throw itemError(`Processor convert: ${describeValue(value)} is no ${type}`);
}
