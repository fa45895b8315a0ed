import { buildError } from '../build-error.js';
import { Pattern } from '../text/pattern.js';
import { eachText, type ProcessorKind } from './processor.js';

const OPEN = '({\\[<「『【〔［｛〈《';
const CLOSE = ')}\\]>」』】〕］｝〉》';
/** Variable parts by name. */
const PRESETS: Readonly<Record<string, string>> = {
  numbers: '\\d+',
  quoted: '["\'“”‘’][^"\'“”‘’]*["\'“”‘’]',
  bracketed: `[${OPEN}][^${OPEN}${CLOSE}]*[${CLOSE}]`,
  uuid: '\\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\\b',
  ip: '(?:(?:\\d{1,3}\\.){3}\\d{1,3}|\\[[0-9a-fA-F:]+\\])(?::\\d+)?',
};

/** Removes the variable parts of a text, so that texts of one template become equal. */
export const digest: ProcessorKind = {
  name: 'digest',
  build(options, slots) {
    const patterns: Pattern[] = [];
    for (const key of options.keys()) {
      if (key === 'presets') patterns.push(...(options.texts(key) ?? []).map(preset));
      if (key === 'regex') patterns.push(...(options.texts(key) ?? []).map((source) => new Pattern(source)));
    }
    const targets = new Map(options.fields().map(({ from }) => [from, slots.slotOf(`${from}_digest`)]));
    return eachText('digest', options, slots, (item, { from, key }) => {
      let text = item.text(from);
      for (const pattern of patterns) text = pattern.replaceAll(text, () => '');
      item.setText(targets.get(key) ?? from, text);
    });
  },
};

function preset(name: string): Pattern {
  const source = Object.entries(PRESETS).find(([it]) => it === name)?.[1];
  if (source === undefined) throw buildError(`Wrong digest pattern: ${name}`);
  return new Pattern(source);
}
