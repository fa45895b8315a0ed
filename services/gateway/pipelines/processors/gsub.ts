import { compileReplacement, Pattern } from '../text/pattern.js';
import { eachText, required, type ProcessorKind } from './processor.js';

/** Replaces every match of a regular expression. */
export const gsub: ProcessorKind = {
  name: 'gsub',
  build(options, slots) {
    const pattern = new Pattern(required(options.text('pattern'), 'Pattern is required'));
    const replacement = compileReplacement(required(options.text('replacement'), 'Replacement is required'), pattern);
    return eachText('gsub', options, slots, (item, { from, to }) => {
      item.setText(to, pattern.replaceAll(item.text(from), replacement));
    });
  },
};
