import { buildError } from '../build-error.js';
import type { KeySlots } from '../item.js';
import type { ObjectValue } from '../values/value.js';
import { compileTests, type PipelineTest } from './document-tests.js';
import { compileMetrics, type LogMetric } from './log-metrics.js';
import { compileMultiline, type Multiline } from './multiline.js';
import { compileRoutes, type PipelineRoute } from './pipeline-routes.js';

/** What becomes of an item that fails: it refuses the request, is left out, or is stored in the failure table. */
export const ON_ERROR = ['fail', 'skip', 'store'] as const;
/** What becomes of an item that fails. */
export type OnError = (typeof ON_ERROR)[number];

/** What a pipeline says beside its processors and columns. */
export interface PipelineExtras {
  readonly multiline: Multiline | undefined;
  readonly onError: OnError | undefined;
  readonly metrics: readonly LogMetric[];
  readonly tests: readonly PipelineTest[];
  readonly routes: readonly PipelineRoute[];
}

/** The extras of a pipeline that has none. */
export const NO_EXTRAS: PipelineExtras = {
  multiline: undefined,
  onError: undefined,
  metrics: [],
  tests: [],
  routes: [],
};

/** Compiles the keys of a document that are neither processors nor columns. @throws `invalid_arguments`. */
export function compileExtras(document: ObjectValue, slots: KeySlots): PipelineExtras {
  return {
    multiline: compileMultiline(document.get('multiline') ?? null),
    onError: onErrorOf(document.get('on_error') ?? null),
    metrics: compileMetrics(document.get('metrics') ?? null, slots),
    tests: compileTests(document.get('tests') ?? null),
    routes: compileRoutes(document.get('routes') ?? null),
  };
}

/** Reads what becomes of failing items; null is undefined. @throws `invalid_arguments` for another word. */
export function onErrorOf(given: unknown): OnError | undefined {
  if (given === null || given === undefined) return undefined;
  const word = ON_ERROR.find((it) => it === given);
  if (word === undefined) throw buildError(`on_error must be one of ${ON_ERROR.join(', ')}`);
  return word;
}
