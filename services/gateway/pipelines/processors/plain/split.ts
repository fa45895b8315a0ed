import { buildError, itemError } from '../../build-error.js';
import type { Options } from '../../options.js';
import { Pattern } from '../../text/pattern.js';
import { eachText, type ProcessorKind } from '../processor.js';
import { ELEMENTS_MAX } from './append.js';

/** Splits a text to an array. */
export const split: ProcessorKind = {
  name: 'split',
  build(options, slots) {
    const parts = splitter(options);
    const keepsTrailing = options.flag('preserve_trailing', false);
    return eachText('split', options, slots, (item, { from, to }) => {
      const elements = parts(item.text(from));
      if (elements.length > ELEMENTS_MAX) {
        throw itemError(`Processor split: text has more than ${ELEMENTS_MAX} parts`);
      }
      while (!keepsTrailing && elements.at(-1) === '') elements.pop();
      item.set(to, elements);
    });
  },
};

function splitter(options: Options): (text: string) => string[] {
  const separator = options.text('separator');
  const source = options.text('pattern');
  if ((separator === undefined) === (source === undefined) || separator === '') {
    throw buildError('Processor split: needs either separator or pattern');
  }
  // One more than allowed, so that the limit is noticed without splitting the rest.
  if (separator !== undefined) return (text) => text.split(separator, ELEMENTS_MAX + 2);
  const pattern = new Pattern(source ?? '');
  return (text) => {
    const elements: string[] = [];
    let at = 0;
    pattern.each(text, (match) => {
      if (match.end() === match.start() || elements.length > ELEMENTS_MAX) return;
      elements.push(text.slice(at, match.start()));
      at = match.end();
    });
    elements.push(text.slice(at));
    return elements;
  };
}
