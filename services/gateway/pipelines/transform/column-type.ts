import { dataType, type DataType, type TimeUnit } from '#shared/schema/data-type';

import { buildError } from '../build-error.js';
import { timeUnit, UNIT_NAMES, UNIT_WORDS } from './time-unit.js';

const TYPES: Readonly<Record<string, string>> = {
  int8: 'Int8',
  int16: 'Int16',
  int32: 'Int32',
  int64: 'Int64',
  uint8: 'UInt8',
  uint16: 'UInt16',
  uint32: 'UInt32',
  uint64: 'UInt64',
  float32: 'Float32',
  float64: 'Float64',
  boolean: 'Boolean',
  string: 'String',
  json: 'Json',
};
const TIME_WORDS = new Set(['time', 'timestamp', 'epoch']);

/** Native types of times by unit. */
export const TIME_TYPES: Readonly<Record<TimeUnit, string>> = {
  s: 'TimestampSecond',
  ms: 'TimestampMillisecond',
  us: 'TimestampMicrosecond',
  ns: 'TimestampNanosecond',
};

/** Returns the column type of a type of a pipeline, such as `int32` or `timestamp, ms`. */
export function columnType(text: string): DataType {
  const [word, unitText] = text.split(',').map((part) => part.trim());
  const name = word.toLowerCase();
  if (TIME_WORDS.has(name)) {
    const unit = unitText === undefined || unitText === '' ? 'ns' : timeUnit(unitText);
    if (unit !== undefined) return dataType(TIME_TYPES[unit]);
    throw buildError(`Invalid resolution: '${unitText}'. Available resolutions: ${UNIT_WORDS.join(', ')}`);
  }
  if (!Object.hasOwn(TYPES, name)) {
    throw buildError(`Failed to parse type: '${text}'. Use one of ${[...Object.keys(TYPES), 'timestamp'].join(', ')}`);
  }
  return dataType(TYPES[name]);
}

/** Returns the name of a type in messages and dry runs, such as `INT32` or `TIMESTAMP_MILLISECOND`. */
export function typeLabel({ name, timeUnit: unit }: DataType): string {
  return unit === undefined ? name.toUpperCase() : `TIMESTAMP_${UNIT_NAMES[unit].toUpperCase()}`;
}
