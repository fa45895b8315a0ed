import { AlmanacError } from '#shared/errors/almanac-error';
import { checkColumnName, checkTableName, COLUMNS_MAX } from '#shared/schema/names';

import { isJsonObject, type JsonValue } from '../common/json.js';

/** A point as it is stored. */
export interface DataPoint {
  readonly metric: string;
  readonly timeMs: number;
  readonly value: number;
  /** Sorted by name, without empty values. */
  readonly tags: readonly (readonly [name: string, value: string])[];
}

/** Greater timestamps are milliseconds. */
const SECONDS_MAX = 2 ** 32 - 1;
const TIMESTAMP_MAX = 9_999_999_999_999;
const INTEGER = /^[0-9]{1,13}$/;
const NUMBER = /^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Reads a point as it was sent. A text is the reason to reject it, in the words of OpenTSDB where it has them.
 *
 * @param columns of every metric, which no tag may have as its name.
 */
export function readDataPoint(sent: JsonValue, columns: readonly string[]): DataPoint | string {
  if (!isJsonObject(sent)) return 'Datapoint is not an object';
  const { metric, timestamp, value } = sent;
  if (typeof metric !== 'string' || metric === '') return 'Metric name was empty';
  const timeMs = readTimestamp(timestamp);
  if (timeMs === undefined) return 'Invalid timestamp';
  if (value === undefined || value === null || value === '') return 'Empty value';
  const number = readValue(value);
  if (number === undefined) return 'Unable to parse value to a number';
  const tags = readTags(sent['tags'] ?? {});
  if (typeof tags === 'string') return tags;
  const problem = nameProblem(metric, tags, columns);
  return problem === '' ? { metric, timeMs, value: number, tags } : problem;
}

function readTimestamp(sent: JsonValue | undefined): number | undefined {
  const isText = typeof sent === 'string' && INTEGER.test(sent);
  if (!isText && typeof sent !== 'number') return undefined;
  const timestamp = Number(sent);
  if (!Number.isInteger(timestamp) || timestamp <= 0 || timestamp > TIMESTAMP_MAX) return undefined;
  return timestamp > SECONDS_MAX ? timestamp : timestamp * 1000;
}

function readValue(sent: JsonValue): number | undefined {
  const isNumber =
    typeof sent === 'number' || typeof sent === 'bigint' || (typeof sent === 'string' && NUMBER.test(sent));
  const value = isNumber ? Number(sent) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

function readTags(sent: JsonValue): (readonly [string, string])[] | string {
  if (!isJsonObject(sent)) return 'Tags must be an object';
  const tags: (readonly [string, string])[] = [];
  for (const [name, value] of Object.entries(sent)) {
    if (value === null || value === '') continue;
    if (typeof value === 'object') return `Value of tag "${name}" is not a text, number or boolean`;
    tags.push([name, String(value)]);
  }
  if (tags.length >= COLUMNS_MAX) return `Datapoint has more than ${COLUMNS_MAX - 1} tags`;
  return tags.sort(([a], [b]) => (a < b ? -1 : 1));
}

function nameProblem(metric: string, tags: DataPoint['tags'], columns: readonly string[]): string {
  try {
    checkTableName(metric);
    for (const [name] of tags) {
      checkColumnName(name);
      if (columns.includes(name)) return `Tag name "${name}" is the name of a column`;
    }
    return '';
  } catch (error) {
    return AlmanacError.from(error).publicMessage;
  }
}
