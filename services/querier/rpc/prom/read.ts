import type { Clock } from '#shared/clock/clock';
import { checkCall, type Call } from '#shared/contracts/call';
import type { PromMatcher, PromReadPart, PromReadRequest } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { LabelMatcher } from '../../series/matcher.js';
import { compileMatcher } from '../../series/matcher.js';
import { FrameWriter } from '../../remote-read/frames.js';
import { PART_BYTES, TimeSeriesWriter } from '../../remote-read/time-series.js';
import { WireWriter } from '../../remote-read/wire-writer.js';
import type { StoredSeries } from '../../samples/sample-source.js';
import type { SessionDatabases } from './databases.js';

/** Context of a remote read. */
export interface ReadContext {
  readonly databases: SessionDatabases;
  /** Largest number of samples of a response that is not streamed. */
  readonly samplesMax: number;
  readonly clock: Clock;
  readonly call: Call;
}

/** Labels by which remote write and remote read select a database. */
const WRITE_LABELS: ReadonlySet<string> = new Set(['x_greptime_database', 'x_almanac_database']);

/** Returns the samples of a remote read. @throws `invalid_syntax`, `invalid_arguments` before anything is read. */
export async function* remoteReadParts(request: PromReadRequest, context: ReadContext): AsyncIterable<PromReadPart> {
  const { databases, clock, call } = context;
  const encode = request.format === 'chunks' ? frames : samples(context.samplesMax);
  // All matchers are checked first, because a response that has started cannot become an error.
  const matcherSets: LabelMatcher[][] = [];
  for (const { matchers } of request.queries) {
    // Compiling a matcher may take long.
    await clock.yield();
    checkCall(call);
    matcherSets.push(matchers.map(matcherOf));
    databases.resolveDatabase(matcherSets[matcherSets.length - 1]);
  }
  for (const [query, { startMs, endMs }] of request.queries.entries()) {
    const matchers = matcherSets[query];
    if (startMs > endMs) continue;
    for await (const data of encode(databases.stored(matchers, startMs - 1, endMs), query)) {
      checkCall(call);
      yield { query, data };
      await clock.yield();
    }
  }
}

type Encode = (series: AsyncIterable<StoredSeries>, query: number) => AsyncIterable<Uint8Array>;

/** Encodes to frames; small ones are sent together. */
const frames: Encode = async function* (series, query) {
  const writer = new FrameWriter();
  const out = new WireWriter();
  for await (const one of series) {
    for (const frame of writer.frames(one, query)) {
      out.raw(frame);
      if (out.length >= PART_BYTES) yield out.take();
    }
  }
  if (out.length > 0) yield out.take();
};

function samples(samplesMax: number): Encode {
  let count = 0;
  return async function* (series) {
    const writer = new TimeSeriesWriter();
    const out = new WireWriter();
    for await (const one of series) {
      count += one.slice.times.length;
      if (count > samplesMax) {
        throw new AlmanacError('invalid_arguments', `exceeded sample limit (${samplesMax})`);
      }
      yield* writer.parts(one, out);
    }
    if (out.length > 0) yield out.take();
  };
}

function matcherOf({ op, name, value }: PromMatcher): LabelMatcher {
  if (op !== '=' && op !== '!=' && op !== '=~' && op !== '!~') {
    throw new AlmanacError('invalid_arguments', `unknown matcher type ${JSON.stringify(op)}`);
  }
  const matcher: LabelMatcher = { op, value, name: WRITE_LABELS.has(name) ? '__database__' : name };
  try {
    compileMatcher(matcher);
  } catch (error) {
    if (error instanceof AlmanacError) throw error;
    throw new AlmanacError('invalid_syntax', error instanceof Error ? error.message : String(error), { cause: error });
  }
  return matcher;
}
