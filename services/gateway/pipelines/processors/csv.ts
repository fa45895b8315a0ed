import { buildError, itemError } from '../build-error.js';
import type { Options } from '../options.js';
import { eachText, required, type ProcessorKind } from './processor.js';

/** Splits a record of separated values. */
export const csv: ProcessorKind = {
  name: 'csv',
  build(options, slots) {
    const names = required(options.text('target_fields'), 'Processor csv: missing field: target_fields');
    const targets = names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => slots.slotOf(name));
    const separator = singleByte(options, 'separator', ',');
    const quote = singleByte(options, 'quote', '"');
    const trims = options.flag('trim', false);
    const empty = options.text('empty_value');
    return eachText('csv', options, slots, (item, { from }) => {
      const values = firstRecord(item.text(from), separator, quote);
      if (values === undefined) throw itemError('Expected at least one record from csv format, but got none');
      for (const [i, slot] of targets.entries()) {
        if (i < values.length) item.setText(slot, trims ? values[i].trim() : values[i]);
        else item.set(slot, empty ?? null);
      }
    });
  },
};

function singleByte(options: Options, name: string, byDefault: string): string {
  const given = options.text(name) ?? byDefault;
  if (Buffer.byteLength(given) === 1) return given;
  const label = name === 'separator' ? "Separator 'separator'" : "Quote 'quote'";
  throw buildError(`${label} must be a single character, but got '${given}'`);
}

/** Splits the first record that is not an empty line; undefined if there is none (RFC 4180). */
export function firstRecord(text: string, separator: string, quote: string): string[] | undefined {
  let at = 0;
  while (at < text.length && (text[at] === '\n' || text[at] === '\r')) at++;
  if (at === text.length) return undefined;
  const values: string[] = [];
  for (;;) {
    let value = '';
    if (text[at] === quote) {
      // In quotes, two quotes are one.
      for (at++; at < text.length; at++) {
        if (text[at] === quote && text[++at] !== quote) break;
        value += text[at];
      }
    }
    const from = at;
    while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at++;
    values.push(value + text.slice(from, at));
    if (text[at] !== separator) return values;
    at++;
  }
}
