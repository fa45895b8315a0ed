import type { PromMatcher, PromReadQuery } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import { BYTES, VARINT, WireReader } from '#shared/protobuf/wire-reader';

/** A request as it was sent. */
export interface ReadRequest {
  readonly queries: readonly PromReadQuery[];
  /** The first kind of answer that the client takes and Almanac gives. */
  readonly format: 'samples' | 'chunks';
}

/** Most queries of a request, and most matchers in all of them. */
const QUERIES_MAX = 1000;
const MATCHERS_MAX = 10_000;
/** Characters of all regular expressions: compiling them takes a few seconds at most. */
const PATTERN_CHARACTERS_MAX = 256 * 1024;

/** Fields of the messages. */
const QUERY = 1;
const ACCEPTED = 2;
const START = 1;
const END = 2;
const MATCHER = 3;
const OP = 1;
const NAME = 2;
const VALUE = 3;

const OPS = ['=', '!=', '=~', '!~'];
/** Numbers of the kinds of answers. */
const FORMATS = ['samples', 'chunks'] as const;
const FORMAT_NAMES = ['SAMPLES', 'STREAMED_XOR_CHUNKS'];

type OnField = (field: number, type: number, from: number, end: number) => void;

/**
 * Reads a ReadRequest. Hints are left alone: they say what the samples are for, not which are meant.
 *
 * @see https://github.com/prometheus/prometheus/blob/main/prompb/remote.proto
 * @throws `invalid_arguments` if it is malformed, asks for too much, or takes no kind of answer that there is.
 */
export function readRequest(bytes: Buffer): ReadRequest {
  const scanner = new WireReader(bytes);
  const queries: PromReadQuery[] = [];
  const accepted: number[] = [];
  let matcherCount = 0;
  let patternLength = 0;
  eachField(scanner, 0, bytes.length, (field, type, from, end) => {
    if (field === ACCEPTED) return readAccepted(scanner, type, { from, end }, accepted);
    if (field !== QUERY || type !== BYTES) return;
    if (queries.length >= QUERIES_MAX) throw tooMany('queries', QUERIES_MAX);
    const query = readQuery(scanner, from, end);
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

function readQuery(scanner: WireReader, from: number, to: number): PromReadQuery {
  let startMs = 0;
  let endMs = 0;
  const matchers: PromMatcher[] = [];
  eachField(scanner, from, to, (field, type, start, end) => {
    if (field === MATCHER && type === BYTES) {
      if (matchers.length >= MATCHERS_MAX) throw tooMany('matchers', MATCHERS_MAX);
      matchers.push(readMatcher(scanner, start, end));
    }
    if (type !== VARINT) return;
    scanner.varint64(start, end);
    if (field === START) startMs = clamped(scanner.signed);
    if (field === END) endMs = clamped(scanner.signed);
  });
  return { startMs, endMs, matchers };
}

function readMatcher(scanner: WireReader, from: number, to: number): PromMatcher {
  let op = 0;
  let name = '';
  let value = '';
  eachField(scanner, from, to, (field, type, start, end) => {
    if (field === OP && type === VARINT) op = scanner.varint(start, end);
    if (type !== BYTES) return;
    if (field === NAME) name = scanner.bytes.toString('utf8', start, end);
    if (field === VALUE) value = scanner.bytes.toString('utf8', start, end);
  });
  if (op >= OPS.length) throw new AlmanacError('invalid_arguments', `unknown matcher type ${op}`);
  return { op: OPS[op], name, value };
}

/** Numbers one by one or packed; more than a few are not told apart. */
function readAccepted(
  scanner: WireReader,
  type: number,
  { from, end }: { readonly from: number; readonly end: number },
  accepted: number[],
): void {
  if (type !== VARINT && type !== BYTES) return;
  for (let at = from; at < end; at = scanner.at) {
    const number = scanner.varint(at, end);
    if (accepted.length < FORMATS.length * 8) accepted.push(number);
  }
}

/** @param accepted none: old clients, which know one kind only. */
function formatOf(accepted: readonly number[]): ReadRequest['format'] {
  if (accepted.length === 0) return 'samples';
  const format = accepted.find((number) => number < FORMATS.length);
  if (format !== undefined) return FORMATS[format];
  const text = `server does not support any of the requested response types: ${accepted.join(', ')}`;
  throw new AlmanacError('invalid_arguments', `${text}; supported: ${FORMAT_NAMES.join(', ')}`);
}

/** Visits the fields of a message; of bytes the range is what is inside. */
function eachField(scanner: WireReader, from: number, to: number, visit: OnField): void {
  for (let at = from; at < to;) {
    const tag = scanner.varint(at, to);
    const start = scanner.at;
    at = scanner.skip(tag, start, to);
    visit(tag >>> 3, tag & 7, (tag & 7) === BYTES ? scanner.at : start, at);
  }
}

function clamped(timeMs: number): number {
  return Math.min(Math.max(timeMs, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

function tooMany(what: string, most: number): AlmanacError {
  return new AlmanacError('invalid_arguments', `request has more than ${most} ${what}`);
}
