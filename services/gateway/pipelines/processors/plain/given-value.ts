import { buildError } from '../../build-error.js';
import type { Item, KeySlots } from '../../item.js';
import type { Options } from '../../options.js';
import { compileValueTemplate } from '../../text/value-template.js';
import type { PipelineValue } from '../../values/value.js';

/** Reads `value`, or `template`, of which an item makes a text. @throws `invalid_arguments` unless there is one of them. */
export function givenValue(processor: string, options: Options, slots: KeySlots): (item: Item) => PipelineValue {
  const template = options.text('template');
  const isFixed = options.keys().includes('value');
  const value = options.value('value') ?? null;
  if (isFixed === (template !== undefined)) throw buildError(`Processor ${processor}: needs either value or template`);
  return template === undefined ? () => value : compileValueTemplate(template, slots);
}
