import { buildError, itemError } from '../../build-error.js';
import type { Item } from '../../item.js';
import type { Options } from '../../options.js';
import { typedText } from '../../values/typed-text.js';
import { shortened } from '../../values/value.js';
import { eachText, required, type ProcessorKind } from '../processor.js';
import { compileGrok, type GrokDefinitions, type GrokField, type GrokPattern } from './expand.js';

const PATTERNS_MAX = 50;
const DEFINITIONS_MAX = 200;
/** Longest text; matching takes up to a microsecond for each byte of it. */
const TEXT_LENGTH_MAX = 64 * 1024;

/** A pattern whose fields have slots. */
interface PlacedPattern extends GrokPattern {
  readonly slots: readonly number[];
}

/** Extracts fields by named patterns; the first pattern that matches counts (spec: pipelines 20.2). */
export const grok: ProcessorKind = {
  name: 'grok',
  build(options, slots) {
    const single = options.text('pattern');
    const sources = [...(single === undefined ? [] : [single]), ...(options.texts('patterns') ?? [])];
    required(sources[0], 'Processor grok: missing field: patterns');
    if (sources.length > PATTERNS_MAX) throw buildError(`Processor grok: more than ${PATTERNS_MAX} patterns`);
    const definitions = readDefinitions(options);
    const placed = sources.map((source): PlacedPattern => {
      const compiled = compileGrok(source, definitions);
      return { ...compiled, slots: compiled.fields.map(({ name }) => slots.slotOf(name)) };
    });
    return eachText('grok', options, slots, (item, { from }) => {
      const text = item.text(from);
      if (text.length > TEXT_LENGTH_MAX) {
        throw itemError(`Processor grok: text is longer than ${TEXT_LENGTH_MAX} characters`);
      }
      if (!placed.some((pattern) => extract(item, text, pattern))) {
        throw itemError(`Processor grok: no pattern matches ${shortened(text)}`);
      }
    });
  },
};

function readDefinitions(options: Options): GrokDefinitions {
  const own = options.textMap('pattern_definitions') ?? new Map<string, string>();
  if (own.size > DEFINITIONS_MAX) throw buildError(`Processor grok: more than ${DEFINITIONS_MAX} pattern definitions`);
  for (const name of own.keys()) {
    if (!/^[A-Za-z0-9_]+$/.test(name)) {
      throw buildError(`Processor grok: name of a pattern has only letters, digits and _: "${name}"`);
    }
  }
  return { own, usesEcs: options.flag('ecs', false) };
}

/** Sets the fields of the first match. @returns whether there is one. */
function extract(item: Item, text: string, { pattern, fields, slots }: PlacedPattern): boolean {
  const match = pattern.find(text);
  if (match === undefined) return false;
  const values = fields.map(({ group }) => match.group(group));
  for (let i = 0; i < fields.length; i++) {
    const value = values[i];
    // Of several groups with one name, the first that took part counts.
    if (value !== null && isFirst(fields, values, i)) setField(item, slots[i], value, fields[i]);
  }
  return true;
}

function isFirst(fields: readonly GrokField[], values: readonly (string | null)[], position: number): boolean {
  const { name } = fields[position];
  for (let i = 0; i < position; i++) if (fields[i].name === name && values[i] !== null) return false;
  return true;
}

function setField(item: Item, slot: number, text: string, { name, type }: GrokField): void {
  if (type === undefined) return item.setText(slot, text);
  const value = typedText(text, type);
  if (value === undefined) throw itemError(`Processor grok: "${name}" is no ${type}: ${shortened(text)}`);
  item.set(slot, value);
}
