import { buildError } from '../build-error.js';
import type { Item, KeySlots } from '../item.js';
import { isArray, isObject, printValue, type PipelineValue } from '../values/value.js';

const LENGTH_MAX = 8 * 1024;
const PLACE = /\{\{\s*([^{}]*?)\s*\}\}/;

/** Compiles a text such as `{{ host }}:{{ url.port }}`, which inserts values of an item. @throws `invalid_arguments`. */
export function compileValueTemplate(source: string, slots: KeySlots): (item: Item) => string {
  if (source.length > LENGTH_MAX) throw buildError(`template is longer than ${LENGTH_MAX} characters`);
  const parts = source.split(PLACE).map((part, i) => (i % 2 === 0 ? part : readerOf(part, slots)));
  return (item) => {
    let text = '';
    for (const part of parts) text += typeof part === 'string' ? part : textOf(part(item));
    return text;
  };
}

/** Returns how to read a key or, if there is none of that name, a path into objects and arrays. */
function readerOf(path: string, slots: KeySlots): (item: Item) => PipelineValue | undefined {
  if (path === '') throw buildError('template names no key in "{{ }}"');
  const slot = slots.slotOf(path);
  const [first, ...steps] = path.split('.');
  if (steps.length === 0) return (item) => item.get(slot);
  const root = slots.slotOf(first);
  return (item) => (item.has(slot) ? item.get(slot) : steps.reduce(memberOf, item.get(root)));
}

function memberOf(value: PipelineValue | undefined, step: string): PipelineValue | undefined {
  if (isObject(value)) return value.get(step);
  return isArray(value) && /^\d{1,6}$/.test(step) ? value[Number(step)] : undefined;
}

function textOf(value: PipelineValue | undefined): string {
  return value === undefined || value === null ? '' : printValue(value);
}
