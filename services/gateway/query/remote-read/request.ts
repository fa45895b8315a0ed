import type { PromMatcher, PromReadQuery } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import { BYTES, VARINT, WireReader } from '#shared/protobuf/wire-reader';

/** The queries of a request, and the format of its response. */
export interface ReadRequest {
  readonly queries: readonly PromReadQuery[];
  /** The first response type that the client accepts and Almanac supports. */
  readonly format: 'samples' | 'chunks';
}

/** Largest number of queries of a request, and of matchers in all of them. */
const QUERIES_MAX = 1000;
const MATCHERS_MAX = 10_000;
/** Characters of all regular expressions, which take a few seconds to compile at most. */
const PATTERN_CHARACTERS_MAX = 256 * 1024;

/** Field numbers of the messages. */
const QUERY = 1;
const ACCEPTED = 2;
const START = 1;
const END = 2;
const MATCHER = 3;
const OP = 1;
const NAME = 2;
const VALUE = 3;

const OPS = ['=', '!=', '=~', '!~'];
/** Response types by number. */
const FORMATS = ['samples', 'chunks'] as const;
const FORMAT_NAMES = ['SAMPLES', 'STREAMED_XOR_CHUNKS'];

/**
 * Reads a ReadRequest. Hints are ignored: they describe how the samples are used, not which are requested.
 *
 * @see https://github.com/prometheus/prometheus/blob/main/prompb/remote.proto
 * @throws `invalid_arguments` if it is malformed, exceeds a limit, or accepts no supported response type.
 */
export function readRequest(bytes: Buffer): ReadRequest {
  const reader = new WireReader(bytes);
  const queries: PromReadQuery[] = [];
  const accepted: number[] = [];
  let matcherCount = 0;
  let patternLength = 0;
  reader.eachField(0, bytes.length, (field, type, from, end) => {
    if (field === ACCEPTED) return readAccepted(reader, type, { from, end }, accepted);
    if (field !== QUERY || type !== BYTES) return;
    if (queries.length >= QUERIES_MAX) throw tooMany('queries', QUERIES_MAX);
    const query = readQuery(reader, from, end);
    matcherCount += query.matchers.length;
    if (matcherCount > MATCHERS_MAX) throw tooMany('matchers', MATCHERS_MAX);
    for (const { op, value } of query.matchers) patternLength += op === '=~' || op === '!~' ? value.length : 0;
    if (patternLength > PATTERN_CHARACTERS_MAX) {
      throw tooMany('characters in regular expressions', PATTERN_CHARACTERS_MAX);
    }
    queries.push(query);
  });
  return { queries, format: formatOf(accepted) };
}

function readQuery(reader: WireReader, from: number, to: number): PromReadQuery {
  let startMs = 0;
  let endMs = 0;
  const matchers: PromMatcher[] = [];
  reader.eachField(from, to, (field, type, start, end) => {
    if (field === MATCHER && type === BYTES) {
      if (matchers.length >= MATCHERS_MAX) throw tooMany('matchers', MATCHERS_MAX);
      matchers.push(readMatcher(reader, start, end));
    }
    if (type !== VARINT) return;
    reader.varint64(start, end);
    if (field === START) startMs = clamped(reader.signed);
    if (field === END) endMs = clamped(reader.signed);
  });
  return { startMs, endMs, matchers };
}

function readMatcher(reader: WireReader, from: number, to: number): PromMatcher {
  let op = 0;
  let name = '';
  let value = '';
  reader.eachField(from, to, (field, type, start, end) => {
    if (field === OP && type === VARINT) op = reader.varint(start, end);
    if (type !== BYTES) return;
    if (field === NAME) name = reader.bytes.toString('utf8', start, end);
    if (field === VALUE) value = reader.bytes.toString('utf8', start, end);
  });
  if (op >= OPS.length) throw new AlmanacError('invalid_arguments', `unknown matcher type ${op}`);
  return { op: OPS[op], name, value };
}

/** Reads numbers, packed or single; many more than there are types are dropped. */
function readAccepted(
  reader: WireReader,
  type: number,
  { from, end }: { readonly from: number; readonly end: number },
  accepted: number[],
): void {
  if (type !== VARINT && type !== BYTES) return;
  for (let at = from; at < end; at = reader.at) {
    const number = reader.varint(at, end);
    if (accepted.length < FORMATS.length * 8) accepted.push(number);
  }
}

/** @param accepted empty for old clients, which support one type only. */
function formatOf(accepted: readonly number[]): ReadRequest['format'] {
  if (accepted.length === 0) return 'samples';
  const format = accepted.find((number) => number < FORMATS.length);
  if (format !== undefined) return FORMATS[format];
  const text = `server does not support any of the requested response types: ${accepted.join(', ')}`;
  throw new AlmanacError('invalid_arguments', `${text}; supported: ${FORMAT_NAMES.join(', ')}`);
}

function clamped(timeMs: number): number {
  return Math.min(Math.max(timeMs, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

function tooMany(what: string, most: number): AlmanacError {
  return new AlmanacError('invalid_arguments', `request has more than ${most} ${what}`);
}
