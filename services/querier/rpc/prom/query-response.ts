import type { PromQueryRequest } from '#shared/contracts/gen/querier';

import type { PromResult } from '../../promql/index.js';
import { hasSamples, type StepSeries } from '../../promql/runtime/samples.js';
import { applyLimit, envelope, jsonArray, jsonArrayOfParts, TRUNCATED_WARNING } from './envelope.js';
import { floatHead, matrixElement, rangeElement, scalarJson, timeText, vectorElement, floatText } from './json.js';

/** Statistics of a query. */
export interface QueryStats {
  /** JSON of the member `samples`. */
  readonly samples: string;
  readonly queuedMs: number;
  readonly elapsedMs: number;
  /** Whether the value of the parameter `stats` is deprecated. */
  readonly isDeprecated: boolean;
}

/** Parts of a response besides the result. */
export interface ResponseExtras {
  readonly stats: QueryStats | undefined;
  /** Warnings that are not annotations of the query. */
  readonly warnings: readonly string[];
}

const DEPRECATED_STATS = 'the value of the parameter "stats" is deprecated: use "true" or "all"';

/** Vectors of up to this many series become one text at once. */
const JOINED_SERIES_MAX = 500;

/** Returns the response to a query. */
export function queryResponse(request: PromQueryRequest, result: PromResult, extras: ResponseExtras): Iterable<string> {
  const { type, elements, isTruncated } = resultText(request, result);
  const warnings = [
    ...(isTruncated ? [TRUNCATED_WARNING] : []),
    ...(extras.stats?.isDeprecated === true ? [DEPRECATED_STATS] : []),
    ...extras.warnings,
    ...result.warnings,
  ];
  return envelope(dataText(type, elements, extras.stats), () => ({ warnings, infos: result.infos }));
}

function* dataText(type: string, elements: Iterable<string>, stats: QueryStats | undefined): Iterable<string> {
  yield `{"resultType":"${type}","result":`;
  yield* elements;
  if (stats !== undefined) yield `,"stats":{"timings":${timingsText(stats)},"samples":${stats.samples}}`;
  yield '}';
}

function timingsText({ queuedMs, elapsedMs }: QueryStats): string {
  const evaluated = elapsedMs / 1000;
  return JSON.stringify({
    evalTotalTime: evaluated,
    resultSortTime: 0,
    queryPreparationTime: 0,
    innerEvalTime: evaluated,
    execQueueTime: queuedMs / 1000,
    execTotalTime: (queuedMs + elapsedMs) / 1000,
  });
}

/** JSON of a result and its type. */
interface ResultText {
  readonly type: 'matrix' | 'vector' | 'scalar' | 'string';
  readonly elements: Iterable<string>;
  readonly isTruncated: boolean;
}

function resultText({ startMs, endMs, stepMs, limit }: PromQueryRequest, { value, steps }: PromResult): ResultText {
  const isInstant = stepMs === 0;
  switch (value.kind) {
    case 'string':
      return { type: 'string', elements: [`[${timeText(endMs)},${JSON.stringify(value.value)}]`], isTruncated: false };
    case 'scalar':
      if (isInstant) return { type: 'scalar', elements: [scalarJson(endMs, value.values[0])], isTruncated: false };
      return { type: 'matrix', elements: [scalarMatrix(value.values, startMs, stepMs)], isTruncated: false };
    case 'matrix': {
      const { items, isTruncated } = applyLimit(value.series, limit);
      return { type: 'matrix', elements: jsonArrayOfParts(items, rangeElement), isTruncated };
    }
    case 'vector': {
      const { items, isTruncated } = applyLimit(value.series.filter(hasSamples), limit);
      if (isInstant) {
        const time = timeText(endMs);
        const isSmall = items.length <= JOINED_SERIES_MAX;
        const elements = isSmall
          ? [vectorJson(items, time)]
          : jsonArray(mapped(items, (it) => vectorElement(it, time)));
        return { type: 'vector', elements, isTruncated };
      }
      // Cached series have their texts already.
      let heads: readonly string[] | undefined;
      const headsOf = (): readonly string[] => {
        return (heads ??= Array.from({ length: steps }, (_, step) => floatHead(startMs + step * stepMs)));
      };
      return {
        type: 'matrix',
        elements: jsonArray(mapped(items, (it) => matrixElement(it, headsOf))),
        isTruncated,
      };
    }
  }
}

function vectorJson(items: readonly StepSeries[], time: string): string {
  let elements = '';
  for (const it of items) elements += elements === '' ? vectorElement(it, time) : `,${vectorElement(it, time)}`;
  return `[${elements}]`;
}

function scalarMatrix(values: Float64Array, startMs: number, stepMs: number): string {
  const pairs = Array.from(values, (value, step) => `[${timeText(startMs + step * stepMs)},"${floatText(value)}"]`);
  return `[{"metric":{},"values":[${pairs.join(',')}]}]`;
}

/** Maps lazily, so that only one text is in memory at a time. */
function* mapped<T>(items: readonly T[], text: (item: T) => string): Iterable<string> {
  for (const item of items) yield text(item);
}
