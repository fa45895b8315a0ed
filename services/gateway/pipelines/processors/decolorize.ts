import { eachText, type ProcessorKind } from './processor.js';

const COLOUR = /\u001b\[[\d;]*m/g;

/** Removes ANSI colour sequences. */
export const decolorize: ProcessorKind = {
  name: 'decolorize',
  build: (options, slots) =>
    eachText('decolorize', options, slots, (item, { from, to }) => {
      item.setText(to, item.text(from).replace(COLOUR, ''));
    }),
};
