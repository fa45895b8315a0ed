import { computed } from '@preact/signals';

import { parameter, setParameters } from '../../core/route.js';

/** Traces that a search returns, unless the address has another number. */
const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 1500;

/** The trace that is open; empty while traces are searched for. */
export const traceId = computed(() => parameter('id'));
/** The span whose details are shown. */
export const spanId = computed(() => parameter('span'));
/** What is looked for in the trace. */
export const findText = computed(() => parameter('find'));

/** How a trace is shown. */
export type TraceViewName = 'waterfall' | 'flame' | 'statistics';

const VIEWS: readonly TraceViewName[] = ['waterfall', 'flame', 'statistics'];

/** How the trace is shown. */
export const traceViewName = computed<TraceViewName>(
  () => VIEWS.find((name) => name === parameter('view')) ?? 'waterfall',
);

/** Whether the map of services is shown instead of the search. */
export const hasServiceMap = computed(() => parameter('view') === 'services');

/** Compared as a text, so that other parameters do not look like another search. */
const searchKey = computed(() =>
  JSON.stringify({
    service: parameter('service'),
    operation: parameter('op'),
    tags: parameter('tags'),
    min: parameter('min'),
    max: parameter('max'),
    status: parameter('status'),
    limit: parameter('limit', String(LIMIT_DEFAULT)),
  } satisfies SearchFields),
);

/** The search of the address. */
export interface SearchFields {
  readonly service: string;
  readonly operation: string;
  readonly tags: string;
  readonly min: string;
  readonly max: string;
  readonly status: string;
  readonly limit: string;
}

/** The search of the address. */
export const searchFields = computed<SearchFields>(() => JSON.parse(searchKey.value) as SearchFields);

/** Number of traces that a search returns at most. */
export const limit = computed(() => {
  const value = Number(searchFields.value.limit);
  return Number.isInteger(value) && value > 0 ? Math.min(value, LIMIT_MAX) : LIMIT_DEFAULT;
});

/** Searches for traces. @returns whether the address has changed. */
export function setTraceSearch(fields: SearchFields): boolean {
  const before = searchFields.peek();
  const text = (value: string): string | undefined => (value.trim() === '' ? undefined : value.trim());
  setParameters({
    service: text(fields.service),
    op: text(fields.operation),
    tags: text(fields.tags),
    min: text(fields.min),
    max: text(fields.max),
    status: text(fields.status),
    limit: fields.limit === String(LIMIT_DEFAULT) ? undefined : text(fields.limit),
  });
  return before !== searchFields.peek();
}

/** Opens a trace; undefined returns to the search. */
export function openTrace(id: string | undefined): void {
  setParameters({ id, span: undefined, find: undefined, zoom: undefined, fold: undefined });
}

/** A part of a trace, in microseconds from its start. */
export interface Zoom {
  readonly fromUs: number;
  readonly toUs: number;
}

/** The part of the trace that is shown; undefined: all of it. */
export const zoom = computed<Zoom | undefined>(() => {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(parameter('zoom'));
  if (match === null) return undefined;
  const [fromUs, toUs] = [Number(match[1]), Number(match[2])];
  return fromUs < toUs ? { fromUs, toUs } : undefined;
});

/** Shows a part of the trace. */
export function setZoom(part: Zoom | undefined): void {
  setParameters({ zoom: part === undefined ? undefined : `${Math.round(part.fromUs)}-${Math.round(part.toUs)}` });
}
