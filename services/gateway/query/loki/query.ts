import { Slices } from '#shared/clock/slices';
import { checkCall } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { findLines } from '../../logql/find-lines.js';
import type { MetricValue } from '../../logql/metric/binary.js';
import { evaluateMetric } from '../../logql/metric/evaluate.js';
import { emptySeries, type MetricSeries, type Steps } from '../../logql/metric/series.js';
import { tooManySeries } from '../../logql/metric/windows.js';
import type { LogSource } from '../../logql/source/log-rows.js';
import { compileStages } from '../../logql/stages/pipeline.js';
import type { LogQuery, MetricQuery } from '../../logql/syntax/ast.js';
import { parseLogql } from '../../logql/syntax/parse.js';
import type { QueryReply } from '../query-route.js';
import { instantTime, lokiRangeQuery, requiredQuery, lokiStepCount, type LokiRangeQuery } from './parameters.js';
import type { LokiDeps, LokiRequest } from './request.js';
import { matrixJson, resultJson, sampleJson, StreamsJson, vectorJson } from './result-json.js';

const JSON_TYPE = { 'content-type': 'application/json; charset=UTF-8' };
/** Value of `X-Loki-Response-Encoding-Flags` by which clients request the labels of lines apart from those of streams. */
const CATEGORIZE = 'categorize-labels';

/** `query_range`: lines, or series at each step. */
export async function lokiQueryRange(request: LokiRequest, deps: LokiDeps): Promise<QueryReply> {
  const { form, nowNs, limits } = request;
  const parameters = lokiRangeQuery(form, nowNs, limits.maxEntries);
  const query = parseLogql(parameters.query);
  if (query.kind === 'log') return lines(request, query, parameters);
  const steps = { startNs: parameters.startNs, stepNs: parameters.stepNs, count: lokiStepCount(parameters) };
  const source = await request.source();
  const value = await computed(query, { request, deps, source, steps });
  const series = typeof value === 'number' ? [constantSeries(value, steps.count)] : value;
  const shown = series.filter(({ present }) => present.includes(1));
  if (shown.length > limits.maxSeries) throw tooManySeries(limits.maxSeries);
  return result(request, source, { type: 'matrix', result: matrixJson(shown, steps), entries: shown.length });
}

/** `query`: series at one time. */
export async function queryInstant(request: LokiRequest, deps: LokiDeps): Promise<QueryReply> {
  const { form, nowNs, limits } = request;
  const atNs = instantTime(form, nowNs);
  const query = parseLogql(requiredQuery(form));
  if (query.kind === 'log') {
    throw new AlmanacError(
      'invalid_arguments',
      'log queries are not supported as an instant query type, please change your query to a range query type',
    );
  }
  const source = await request.source();
  const value = await computed(query, { request, deps, source, steps: { startNs: atNs, stepNs: 1n, count: 1 } });
  if (typeof value === 'number') {
    return result(request, source, { type: 'scalar', result: sampleJson(atNs, value), entries: 1 });
  }
  const shown = value.filter(({ present }) => present[0] === 1);
  if (shown.length > limits.maxSeries) throw tooManySeries(limits.maxSeries);
  return result(request, source, { type: 'vector', result: vectorJson(shown, atNs), entries: shown.length });
}

interface Computation {
  readonly request: LokiRequest;
  readonly deps: LokiDeps;
  readonly source: LogSource | undefined;
  readonly steps: Steps;
}

/** Computes a query for numbers. */
export function computed(query: MetricQuery, { request, deps, source, steps }: Computation): Promise<MetricValue> {
  const slices = new Slices(deps.clock, { check: () => checkCall(request.call) });
  return evaluateMetric(query, { source, steps, slices });
}

function constantSeries(value: number, count: number): MetricSeries {
  const series = emptySeries([], count);
  series.values.fill(value);
  series.present.fill(1);
  return series;
}

async function lines(request: LokiRequest, query: LogQuery, parameters: LokiRangeQuery): Promise<QueryReply> {
  const { startNs, endNs, isForward, limit, intervalNs } = parameters;
  const flags = request.context.request.headers['x-loki-response-encoding-flags'];
  const isCategorized = typeof flags === 'string' && flags.split(',').some((flag) => flag.trim() === CATEGORIZE);
  compileStages(query.stages);
  const source = await request.source();
  const streams = new StreamsJson(isCategorized);
  let lastNs: bigint | undefined;
  if (source !== undefined) {
    // With an interval, lines are left out of those found.
    const found = intervalNs > 0n ? Number.MAX_SAFE_INTEGER : limit;
    const search = { query, fromNs: startNs, toNs: endNs, isForward, limit: found, isSparse: intervalNs > 0n };
    await findLines(search, source, (line) => {
      const apartNs = lastNs === undefined ? intervalNs : isForward ? line.timeNs - lastNs : lastNs - line.timeNs;
      if (apartNs < intervalNs) return true;
      lastNs = line.timeNs;
      streams.add(line);
      return streams.count < limit;
    });
  }
  const shownFlags = isCategorized ? [CATEGORIZE] : [];
  return result(request, source, {
    type: 'streams',
    result: streams.text(),
    entries: streams.count,
    flags: shownFlags,
  });
}

interface LokiResult {
  readonly type: string;
  readonly result: string;
  readonly entries: number;
  readonly flags?: readonly string[];
}

function result(
  { context, database }: LokiRequest,
  source: LogSource | undefined,
  { entries, ...shown }: LokiResult,
): QueryReply {
  const { rows = 0, bytes = 0 } = source?.budget ?? {};
  const text = resultJson(shown, { lines: rows, bytes, entries, elapsedMs: context.elapsedMs });
  return { text, headers: JSON_TYPE, ...(source !== undefined && { database }) };
}
