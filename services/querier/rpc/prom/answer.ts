import type { PromQueryRequest } from '#shared/contracts/gen/querier';

import type { PromResult } from '../../promql/index.js';
import { hasSamples } from '../../promql/runtime/samples.js';
import { cut, envelope, jsonArray, jsonArrayOfParts, TRUNCATED_WARNING } from './envelope.js';
import { floatHead, matrixElement, rangeElement, scalarJson, timeText, vectorElement, floatText } from './json.js';

/** What is told of how a query was answered. */
export interface AnswerStats {
  /** The member `samples`, as text. */
  readonly samples: string;
  readonly queuedMs: number;
  readonly elapsedMs: number;
  /** Whether they were asked for in a way that is going to end. */
  readonly isDeprecated: boolean;
}

export interface AnswerExtras {
  readonly stats: AnswerStats | undefined;
  /** That are no annotations of the query. */
  readonly warnings: readonly string[];
}

const DEPRECATED_STATS = 'the value of the parameter "stats" is deprecated: use "true" or "all"';

/** The whole answer of a query. */
export function answerText(request: PromQueryRequest, answer: PromResult, extras: AnswerExtras): Iterable<string> {
  const { type, elements, isCut } = resultOf(request, answer);
  const warnings = [
    ...(isCut ? [TRUNCATED_WARNING] : []),
    ...(extras.stats?.isDeprecated === true ? [DEPRECATED_STATS] : []),
    ...extras.warnings,
    ...answer.warnings,
  ];
  return envelope(dataText(type, elements, extras.stats), () => ({ warnings, infos: answer.infos }));
}

function* dataText(type: string, elements: Iterable<string>, stats: AnswerStats | undefined): Iterable<string> {
  yield `{"resultType":"${type}","result":`;
  yield* elements;
  if (stats !== undefined) yield `,"stats":{"timings":${timingsText(stats)},"samples":${stats.samples}}`;
  yield '}';
}

function timingsText({ queuedMs, elapsedMs }: AnswerStats): string {
  const evaluated = elapsedMs / 1000;
  return JSON.stringify({
    ...{ evalTotalTime: evaluated, resultSortTime: 0, queryPreparationTime: 0, innerEvalTime: evaluated },
    ...{ execQueueTime: queuedMs / 1000, execTotalTime: (queuedMs + elapsedMs) / 1000 },
  });
}

interface Result {
  readonly type: 'matrix' | 'vector' | 'scalar' | 'string';
  readonly elements: Iterable<string>;
  readonly isCut: boolean;
}

function resultOf({ startMs, endMs, stepMs, limit }: PromQueryRequest, { value, steps }: PromResult): Result {
  const isInstant = stepMs === 0;
  switch (value.kind) {
    case 'string':
      return { type: 'string', elements: [`[${timeText(endMs)},${JSON.stringify(value.value)}]`], isCut: false };
    case 'scalar':
      if (isInstant) return { type: 'scalar', elements: [scalarJson(endMs, value.values[0])], isCut: false };
      return { type: 'matrix', elements: [scalarMatrix(value.values, startMs, stepMs)], isCut: false };
    case 'matrix': {
      const { items, isCut } = cut(value.series, limit);
      return { type: 'matrix', elements: jsonArrayOfParts(items, rangeElement), isCut };
    }
    case 'vector': {
      const { items, isCut } = cut(value.series.filter(hasSamples), limit);
      if (isInstant) {
        return { type: 'vector', elements: jsonArray(mapped(items, (it) => vectorElement(it, endMs))), isCut };
      }
      const heads = Array.from({ length: steps }, (_, step) => floatHead(startMs + step * stepMs));
      return {
        type: 'matrix',
        elements: jsonArray(mapped(items, (it) => matrixElement(it, heads))),
        isCut,
      };
    }
  }
}

function scalarMatrix(values: Float64Array, startMs: number, stepMs: number): string {
  const pairs = Array.from(values, (value, step) => `[${timeText(startMs + step * stepMs)},"${floatText(value)}"]`);
  return `[{"metric":{},"values":[${pairs.join(',')}]}]`;
}

/** One after the other, so that not all texts are there at once. */
function* mapped<T>(items: readonly T[], text: (item: T) => string): Iterable<string> {
  for (const item of items) yield text(item);
}
