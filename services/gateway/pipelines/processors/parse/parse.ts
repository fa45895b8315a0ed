import { buildError, itemError } from '../../build-error.js';
import { isZoneName } from '../../date/zone-offset.js';
import type { Item } from '../../item.js';
import { shortened, type PipelineValue } from '../../values/value.js';
import { eachText, required, type ProcessorKind } from '../processor.js';
import { PARSE_FORMATS } from './formats/registry.js';
import { ParsedFields } from './parse-format.js';

const NAMES = PARSE_FORMATS.map(({ name }) => name);

/** Parses text of a well-known format (spec: pipelines 20.2). */
export const parse: ProcessorKind = {
  name: 'parse',
  build(options, slots, { resources }) {
    const as = required(options.text('as'), 'Processor parse: missing field: as');
    const format = PARSE_FORMATS.find(({ name }) => name === as);
    if (format === undefined) {
      throw buildError(`Processor parse: unknown format "${as}": use one of ${NAMES.join(', ')}`);
    }
    const timezone = options.text('timezone') ?? 'UTC';
    if (!isZoneName(timezone)) throw buildError(`Parse date timezone error ${timezone}`);
    const read = format.build({ options, timezone, nowNs: () => resources.clock.nowNs() });
    const target = options.text('target');
    const fields = new ParsedFields();
    return eachText('parse', options, slots, (item, { from, to, key }) => {
      fields.clear();
      const text = item.text(from);
      if (!read(text, fields)) throw itemError(`Processor parse: "${key}" is no ${as}: ${shortened(text)}`);
      if (target !== undefined) item.set(item.slots.slotOf(target), objectOf(fields));
      else if (to !== from) item.set(to, objectOf(fields));
      else setFields(item, fields);
    });
  },
};

function objectOf({ names, values }: ParsedFields): PipelineValue {
  return new Map(names.map((name, i) => [name, values[i]]));
}

function setFields(item: Item, { names, values }: ParsedFields): void {
  const { slots } = item;
  for (let i = 0; i < names.length; i++) item.set(slots.slotOf(names[i]), values[i]);
}
