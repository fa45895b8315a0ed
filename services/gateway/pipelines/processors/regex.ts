import { buildError } from '../build-error.js';
import type { Item } from '../item.js';
import { Pattern } from '../text/pattern.js';
import { eachText, fieldSlots, type ProcessorKind } from './processor.js';

/** A pattern, and the fields of its named groups. */
interface NamedPattern {
  readonly pattern: Pattern;
  readonly groups: readonly { readonly name: string; readonly slot: number }[];
}

/** Extracts the named groups of regular expressions; all patterns run. */
export const regex: ProcessorKind = {
  name: 'regex',
  build(options, slots) {
    const single = options.text('pattern');
    const patterns = [...(single === undefined ? [] : [single]), ...(options.texts('patterns') ?? [])];
    const compiled = patterns.filter((it) => it !== '').map((source) => new Pattern(source));
    for (const { groupNames, source } of compiled) {
      if (groupNames.length === 0) throw buildError(`No named group found in regex ${source}`);
    }
    const fields = fieldSlots(options, slots);
    if (fields.length === 0) throw buildError('No valid field found in regex processor');
    if (compiled.length === 0) throw buildError('No valid pattern found in regex processor');
    const byField = new Map(
      fields.map(({ from, target }) => {
        const named = compiled.map((pattern): NamedPattern => {
          const groups = pattern.groupNames.map((name) => ({ name, slot: slots.slotOf(`${target}_${name}`) }));
          return { pattern, groups };
        });
        return [`${from} ${target}`, named] as const;
      }),
    );
    return eachText('regex', options, slots, (item, { from, target }) => {
      const text = item.text(from);
      for (const named of byField.get(`${from} ${target}`) ?? []) extract(item, text, named);
    });
  },
};

function extract(item: Item, text: string, { pattern, groups }: NamedPattern): void {
  const match = pattern.find(text);
  if (match === undefined) return;
  for (const { name, slot } of groups) {
    const group = match.group(name);
    if (group !== null) item.setText(slot, group);
  }
}
