import type { TimeUnit } from '#shared/schema/data-type';

import { buildError, itemError } from './build-error.js';
import type { CompiledPipeline } from './compile.js';
import { compileDateFormat, readDate, type DateFormat } from './date/date-format.js';
import { DateParts } from './date/date-parts.js';
import { NO_EXTRAS } from './document/extras.js';
import { Held, KeySlots, type Item } from './item.js';
import { setTimeOfCount } from './processors/epoch-time.js';
import { coercionTo, Coercion, type Coerce } from './transform/coerce.js';
import { receiptTime, timeIndex, type TransformColumn } from './transform/transform.js';
import { printValue } from './values/value.js';

/** Name of the built-in pipeline that stores JSON objects with a column for each member. */
export const IDENTITY = 'greptime_identity';

/** Returns the name of a pipeline as it is stored: built-in ones have two. */
export function canonicalName(name: string): string {
  return name.replace(/^almanac_(?=identity$|trace_v[01]$)/, 'greptime_');
}

/** Options of the identity pipeline for a request. */
export interface IdentityOptions {
  /** `field;type;format` of the time index; undefined for the time of receipt. */
  readonly customTimeIndex: string | undefined;
  /** Whether the current time counts where the custom time index is absent or malformed. */
  readonly ignoresErrors: boolean;
  /** Whether the time of an item is the one that its protocol gives to it, rather than that of receipt. */
  readonly usesItemTime?: boolean;
}

/** Builds the identity pipeline (spec: pipelines 9). @throws `invalid_arguments` for a malformed time index. */
export function identityPipeline(timeColumn: string, options: IdentityOptions): CompiledPipeline {
  const slots = new KeySlots([]);
  const { customTimeIndex: custom, ignoresErrors, usesItemTime = false } = options;
  const time: TransformColumn =
    custom === undefined
      ? { ...receiptTime({ slots, timeColumn }), now: usesItemTime ? 'invalid' : 'always' }
      : { ...customTime(custom, slots), now: ignoresErrors ? 'invalid' : 'never' };
  return {
    name: IDENTITY,
    keys: slots.keys,
    steps: [],
    lookups: [],
    dispatcher: undefined,
    transform: { columns: [time], time, keepsRest: true, treeType: 'String', hasFixedColumns: false },
    suffix: undefined,
    timeKey: timeColumn,
    extras: NO_EXTRAS,
    concealers: [],
    warnings: [],
  };
}

function customTime(config: string, slots: KeySlots): TransformColumn {
  const fail = (reason: string): Error => {
    return buildError(`Invalid custom time index config: ${config}, reason: ${reason}`);
  };
  const [key, type, ...formats] = config.split(';');
  if (formats.length === 0 || key === '') throw fail("config format: '<field>;<type>;<config>'");
  const format = formats.join(';');
  if (type === 'epoch') {
    if (!['ns', 'us', 'ms', 's'].includes(format)) throw fail('epoch type must be one of ns, us, ms, s');
    const unit = format as TimeUnit;
    const column = timeIndex(slots, key, unit);
    return { ...column, coerce: countReader(unit, coercionTo(column.type)) };
  }
  if (type !== 'datestr') throw fail('identity time index type must be one of epoch, datestr');
  const compiled = compileDateFormat(format);
  if (compiled === undefined) throw fail('format has an unknown specifier');
  if (!compiled.hasOffset) throw fail('format must contain an offset from UTC');
  const column = timeIndex(slots, key, 'ns');
  return { ...column, coerce: dateReader(compiled, coercionTo(column.type)) };
}

/** Reads counts, and counts as text. */
function countReader(unit: TimeUnit, toTime: Coerce): Coerce {
  return (item, slot, cell) => {
    if (item.isText(slot)) {
      const text = item.text(slot);
      const count = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
      if (count === undefined || !setTimeOfCount(item, slot, count, unit)) {
        throw itemError(`failed to convert ${text} to number`);
      }
    }
    const outcome = toTime(item, slot, cell);
    if (outcome === Coercion.done) return outcome;
    throw itemError(`unsupported value type to convert to timestamp: ${printValue(item.get(slot) ?? null)}`);
  };
}

function dateReader(format: DateFormat, toTime: Coerce): Coerce {
  const parts = new DateParts();
  return (item, slot, cell) => {
    if (item.isText(slot) && !setDate(item, slot, format, parts)) {
      throw itemError(`failed to parse date string: ${item.text(slot)}`);
    }
    if (item.kinds[slot] === Held.timestamp && toTime(item, slot, cell) === Coercion.done) return Coercion.done;
    throw itemError(`unsupported value type to convert to timestamp: ${printValue(item.get(slot) ?? null)}`);
  };
}

function setDate(item: Item, slot: number, format: DateFormat, parts: DateParts): boolean {
  const bytes = item.toBytes(slot);
  if (!readDate(format, parts, bytes, item.low[slot], item.high[slot])) return false;
  const seconds = Number.isNaN(parts.unixSeconds) ? parts.localSeconds() - parts.offset : parts.unixSeconds;
  if (Number.isNaN(seconds)) return false;
  item.setTimestamp(slot, seconds, Math.max(parts.nanos, 0));
  return true;
}
