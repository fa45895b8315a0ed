import { AlmanacError } from '#shared/errors/almanac-error';
import { parseDurationMs } from '#shared/time/duration';

import { buildError } from '../../build-error.js';
import type { Item, KeySlots } from '../../item.js';
import { lookupKey, type LookupSpec } from '../../lookup-tables.js';
import type { Options } from '../../options.js';
import { printValue } from '../../values/value.js';
import { missingField, required, type ProcessorKind } from '../processor.js';

const KEYS_MAX = 8;
const ADDED_MAX = 100;
const REFRESH_MS_MIN = 1_000;
const REFRESH_MS_MAX = 86_400_000;

/** Adds columns of a table of Almanac to items that have the same values. */
export const lookup: ProcessorKind = {
  name: 'lookup',
  build(options, slots, context) {
    const [database, name] = readFrom(options);
    const on = [...required(options.textMap('on'), 'Processor lookup: missing field: on')];
    if (on.length === 0 || on.length > KEYS_MAX) throw buildError(`Processor lookup: on has 1 to ${KEYS_MAX} columns`);
    const added = readAdded(options, slots);
    const spec: LookupSpec = {
      database,
      table: name,
      keys: on.map(([column]) => column),
      added: added.map(({ column }) => column),
      refreshMs: readRefresh(options),
    };
    const table = context.lookupTable(spec);
    const keySlots = on.map(([, key]) => slots.slotOf(key));
    const { ignoreMissing } = options;
    return (item) => {
      const missing = keySlots.findIndex((slot) => item.isMissing(slot));
      if (missing >= 0) {
        if (ignoreMissing) return undefined;
        throw missingField('lookup', on[missing][1], item);
      }
      const values = table.find(keyOf(item, keySlots));
      if (values === undefined) return undefined;
      for (let i = 0; i < added.length; i++) if (values[i] !== null) item.set(added[i].slot, values[i]);
      return undefined;
    };
  },
};

function keyOf(item: Item, slots: readonly number[]): string {
  if (slots.length === 1 && item.isText(slots[0])) return item.text(slots[0]);
  return lookupKey(slots.map((slot) => printValue(item.get(slot) ?? null)));
}

function readFrom(options: Options): readonly [database: string, table: string] {
  const from = required(options.text('from'), 'Processor lookup: missing field: from');
  const dot = from.indexOf('.');
  const parts = dot < 0 ? (['public', from] as const) : ([from.slice(0, dot), from.slice(dot + 1)] as const);
  if (parts.every((part) => part !== '')) return parts;
  throw buildError(`Processor lookup: from "${from}" must be a table, or database.table`);
}

interface AddedColumn {
  readonly column: string;
  readonly slot: number;
}

/** Reads the columns to add: `a`, or `a, b` for another name. */
function readAdded(options: Options, slots: KeySlots): AddedColumn[] {
  const given = options.texts('add') ?? [];
  if (given.length === 0 || given.length > ADDED_MAX) {
    throw buildError(`Processor lookup: add has 1 to ${ADDED_MAX} columns`);
  }
  return given.map((text) => {
    const [column, name = column] = text.split(',').map((part) => part.trim());
    if (column === '' || name === '') throw buildError('Processor lookup: add has an empty name');
    return { column, slot: slots.slotOf(name) };
  });
}

function readRefresh(options: Options): number {
  const text = options.text('refresh') ?? '60s';
  let refreshMs: number;
  try {
    refreshMs = parseDurationMs(text);
  } catch (error) {
    throw buildError(`Processor lookup: refresh: ${AlmanacError.from(error).publicMessage}`);
  }
  if (refreshMs >= REFRESH_MS_MIN && refreshMs <= REFRESH_MS_MAX) return refreshMs;
  throw buildError(`Processor lookup: refresh "${text}" must be from 1s to 24h`);
}
