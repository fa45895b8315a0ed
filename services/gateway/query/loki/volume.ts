import type { MetricSeries, Steps } from '../../logql/metric/series.js';
import type { LogMatcher, MetricQuery } from '../../logql/syntax/ast.js';
import type { QueryReply } from '../query-route.js';
import { selectorOf } from './labels.js';
import { lokiRange, lokiRangeQuery, requiredQuery, lokiStepCount, wholeParameter } from './parameters.js';
import { computed } from './query.js';
import type { LokiDeps, LokiRequest } from './request.js';
import { matrixJson, resultJson, vectorJson } from './result-json.js';

const LIMIT_DEFAULT = 100;
const JSON_TYPE = { 'content-type': 'application/json; charset=UTF-8' };

/** `index/volume`: bytes of lines in the range by stream or by label, the largest first. */
export async function indexVolume(request: LokiRequest, deps: LokiDeps): Promise<QueryReply> {
  const { startNs, endNs } = lokiRange(request.form, request.nowNs);
  requiredQuery(request.form);
  const rangeNs = endNs - startNs;
  const steps = { startNs: endNs, stepNs: 1n, count: 1 };
  const series = rangeNs <= 0n ? [] : await volumes(request, deps, { steps, rangeNs });
  return reply(request, 'vector', vectorJson(series, endNs));
}

/** `index/volume_range`: the same for each step. */
export async function indexVolumeRange(request: LokiRequest, deps: LokiDeps): Promise<QueryReply> {
  const parameters = lokiRangeQuery(request.form, request.nowNs, Infinity);
  const steps = { startNs: parameters.startNs, stepNs: parameters.stepNs, count: lokiStepCount(parameters) };
  const series = await volumes(request, deps, { steps, rangeNs: parameters.stepNs });
  return reply(request, 'matrix', matrixJson(series, steps));
}

interface Window {
  readonly steps: Steps;
  readonly rangeNs: bigint;
}

async function volumes(request: LokiRequest, deps: LokiDeps, { steps, rangeNs }: Window): Promise<MetricSeries[]> {
  const { form } = request;
  const matchers = selectorOf(form);
  const targets = form
    .value('targetLabels')
    .split(',')
    .filter((label) => label !== '');
  const source = await request.source();
  const all = source?.table.tags.map(({ label }) => label) ?? [];
  const limit = wholeParameter(form, 'limit', LIMIT_DEFAULT);
  const labels = targets.length > 0 ? targets : selected(matchers, all);
  const sum = (grouped: readonly string[], more: readonly LogMatcher[]): MetricQuery => ({
    kind: 'vector_aggregation',
    fn: 'sum',
    parameter: undefined,
    grouping: { isWithout: false, labels: grouped },
    inner: {
      kind: 'range_aggregation',
      fn: 'bytes_over_time',
      parameter: undefined,
      query: { kind: 'log', matchers: [...matchers, ...more], stages: [] },
      unwrap: undefined,
      rangeNs,
      offsetNs: 0n,
      grouping: undefined,
    },
  });
  const compute = async (query: MetricQuery): Promise<readonly MetricSeries[]> => {
    const value = await computed(query, { request, deps, source, steps });
    return typeof value === 'number' ? [] : value;
  };
  const found: MetricSeries[] = [];
  if (form.value('aggregateBy') === 'labels') {
    for (const label of labels) {
      const series = await compute(sum([], [{ name: label, op: '!=', value: '' }]));
      found.push(...series.map((one) => ({ ...one, labels: [[label, '']] as const })));
    }
  } else found.push(...(await compute(sum(labels, []))));
  return found.sort((a, b) => total(b) - total(a)).slice(0, limit);
}

/** Returns the labels that the selector names; all if it names none. */
function selected(matchers: readonly LogMatcher[], all: readonly string[]): readonly string[] {
  const names = [...new Set(matchers.map(({ name }) => name))];
  return names.length === 0 ? all : names;
}

function total({ values }: MetricSeries): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function reply({ context }: LokiRequest, type: string, result: string): QueryReply {
  const work = { lines: 0, bytes: 0, entries: 0, elapsedMs: context.elapsedMs };
  return { text: resultJson({ type, result }, work), headers: JSON_TYPE };
}
