import { itemError } from '../build-error.js';
import type { Item, KeySlots } from '../item.js';
import { compileDissect, DissectMatch, type DissectPattern } from '../text/dissect-pattern.js';
import { eachText, required, type ProcessorKind } from './processor.js';

/** A value of a pattern, and its field. */
interface Target {
  readonly slot: number;
  /** Position of the value among the names of the pattern. */
  readonly position: number;
}

/** Where the values of a pattern go. */
interface CompiledPattern {
  readonly pattern: DissectPattern;
  readonly single: readonly Target[];
  /** Positions of the values that are joined to one field, in their order. */
  readonly appended: readonly { readonly slot: number; readonly positions: readonly number[] }[];
  /** Positions of the keys and of the values of pairs. */
  readonly pairs: readonly { readonly key: number; readonly value: number }[];
}

/** Splits a text by the delimiters of a pattern; the first pattern that fits counts. */
export const dissect: ProcessorKind = {
  name: 'dissect',
  build(options, slots) {
    const single = options.text('pattern');
    const sources = [...(single === undefined ? [] : [single]), ...(options.texts('patterns') ?? [])];
    required(sources[0], 'Processor dissect: missing field: pattern');
    const patterns = sources.map((source) => compiled(compileDissect(source), slots));
    const separator = options.text('append_separator') ?? ' ';
    const match = new DissectMatch();
    return eachText('dissect', options, slots, (item, { from }) => {
      const bytes = item.toBytes(from);
      const [start, end] = [item.low[from], item.high[from]];
      const found = patterns.find(({ pattern }) => match.read(pattern, bytes, start, end));
      if (found === undefined) throw itemError('No matching pattern found');
      setFields(item, bytes, match, found, separator);
    });
  },
};

function compiled(pattern: DissectPattern, slots: KeySlots): CompiledPattern {
  const named = [...pattern.names.entries()].filter(([, { name }]) => name !== '');
  const of = (modifier: string): typeof named => named.filter(([, it]) => it.modifier === modifier);
  const appendedNames = new Set(of('+').map(([, { name }]) => name));
  return {
    pattern,
    single: of('').map(([position, { name }]) => ({ slot: slots.slotOf(name), position })),
    appended: [...appendedNames].map((name) => {
      const parts = of('+').filter(([, it]) => it.name === name);
      const positions = parts.sort(([, a], [, b]) => a.order - b.order).map(([position]) => position);
      return { slot: slots.slotOf(name), positions };
    }),
    pairs: of('*').map(([key, { name }]) => {
      return { key, value: of('&').find(([, value]) => value.name === name)?.[0] ?? key };
    }),
  };
}

function setFields(
  item: Item,
  bytes: Buffer,
  { from, to }: DissectMatch,
  { single, appended, pairs }: CompiledPattern,
  separator: string,
): void {
  for (const { slot, position } of single) item.setBytes(slot, bytes, from[position], to[position]);
  for (const { slot, positions } of appended) {
    item.setText(slot, positions.map((at) => bytes.toString('utf8', from[at], to[at])).join(separator));
  }
  for (const { key, value } of pairs) {
    const name = bytes.toString('utf8', from[key], to[key]);
    if (name !== '') item.setBytes(item.slots.slotOf(name), bytes, from[value], to[value]);
  }
}
