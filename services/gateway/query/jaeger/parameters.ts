import { AlmanacError } from '#shared/errors/almanac-error';

import { isJsonObject, parseJson, stringifyJson, type JsonValue } from '../../protocols/common/json.js';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_500;
const TAGS_MAX = 100;
const IDS_MAX = 100;
/** Times of spans are in the range of 64 bits of nanoseconds. */
const TIME_US_MAX = 9_223_372_036_854_000;
const UNITS_US: Readonly<Record<string, number>> = {
  ns: 1e-3,
  us: 1,
  µs: 1,
  ms: 1e3,
  s: 1e6,
  m: 60e6,
  h: 3_600e6,
};

/** A condition on an attribute of a span or of its resource: the text of the value. */
export type TagCondition = readonly [key: string, value: string];

/** Parameters of a search for traces. Times and durations are in microseconds. */
export interface TraceSearch {
  /** Empty: any; only where `ids` are given. */
  readonly service: string;
  readonly operation: string;
  readonly tags: readonly TagCondition[];
  readonly startUs: number | undefined;
  readonly endUs: number | undefined;
  readonly durationMinUs: number | undefined;
  readonly durationMaxUs: number | undefined;
  readonly limit: number;
  /** Traces to return instead of searching. */
  readonly ids: readonly string[];
}

/** Reads the parameters of `/api/traces`. @throws `invalid_arguments`. */
export function traceSearch(query: URLSearchParams): TraceSearch {
  const service = query.get('service') ?? '';
  const ids = query.getAll('traceID').map(traceIdOf);
  if (service === '' && ids.length === 0) throw invalid("parameter 'service' is required");
  if (ids.length > IDS_MAX) throw invalid(`more than ${IDS_MAX} parameters 'traceID'`);
  const durationMinUs = durationUs(query, 'minDuration');
  const durationMaxUs = durationUs(query, 'maxDuration');
  if (durationMinUs !== undefined && durationMaxUs !== undefined && durationMinUs > durationMaxUs) {
    throw invalid("'maxDuration' should be greater than 'minDuration'");
  }
  return {
    service,
    operation: query.get('operation') ?? '',
    tags: tagConditions(query),
    ...timeRange(query),
    durationMinUs,
    durationMaxUs,
    limit: wholeNumber(query, 'limit', LIMIT_MAX) ?? LIMIT_DEFAULT,
    ids,
  };
}

/** Reads `start` and `end`. @throws `invalid_arguments`. */
export function timeRange(query: URLSearchParams): Pick<TraceSearch, 'startUs' | 'endUs'> {
  return { startUs: wholeNumber(query, 'start', TIME_US_MAX), endUs: wholeNumber(query, 'end', TIME_US_MAX) };
}

/** Returns a whole number of at most `max`; undefined if there is none. @throws `invalid_arguments`. */
export function wholeNumber(query: URLSearchParams, name: string, max: number): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Infinity;
  if (value > max) throw invalid(`parameter '${name}' must be a whole number of at most ${max}`);
  return value;
}

/** Returns a trace ID with all of its digits, in lower case. @throws `invalid_arguments`. */
export function traceIdOf(text: string): string {
  if (!/^[0-9a-fA-F]{1,32}$/.test(text)) {
    throw invalid(`trace ID "${text.slice(0, 100)}" is not 1 to 32 hexadecimal digits`);
  }
  return text.toLowerCase().padStart(32, '0');
}

/** Reads `tags`, an object with texts as JSON, and each `tag`, as `key:value`. */
function tagConditions(query: URLSearchParams): TagCondition[] {
  const conditions = query.getAll('tags').flatMap(membersOf);
  for (const tag of query.getAll('tag')) {
    const colon = tag.indexOf(':');
    if (colon < 1) throw invalid("malformed 'tag' parameter, expecting key:value");
    conditions.push([tag.slice(0, colon), tag.slice(colon + 1)]);
  }
  if (conditions.length > TAGS_MAX) throw invalid(`more than ${TAGS_MAX} tags`);
  return conditions;
}

function membersOf(text: string): TagCondition[] {
  if (text === '') return [];
  let tags: JsonValue;
  try {
    tags = parseJson(Buffer.from(text));
  } catch (error) {
    throw invalid(`malformed 'tags' parameter: ${AlmanacError.from(error).publicMessage}`);
  }
  if (!isJsonObject(tags)) throw invalid("malformed 'tags' parameter: expecting a JSON object");
  return Object.entries(tags).map(([key, value]) => [key, typeof value === 'string' ? value : stringifyJson(value)]);
}

/** Reads a duration as Go writes it, such as `1.5ms`. */
function durationUs(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  if (!/^(?:\d{1,12}(?:\.\d{1,12})?(?:ns|us|µs|ms|s|m|h)){1,6}$/.test(text)) {
    throw invalid(`parameter '${name}' must be a duration such as 1.5ms, not "${text.slice(0, 100)}"`);
  }
  let us = 0;
  for (const [, value, unit] of text.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) us += Number(value) * UNITS_US[unit];
  return us;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
