import { bodyTexts, replyJson, request, RequestError, requestJson } from '../../core/http.js';
import { yieldToPage } from '../../core/yield.js';
import { database } from '../../data/sql.js';
import type { TimeRange } from '../../time/range.js';
import type { ServiceCalls } from './services/service-layers.js';
import type { JaegerTrace } from './span-tree.js';
import { TraceReader } from './trace-stream.js';

interface JaegerReply<T> {
  readonly data: T | null;
}

/** What traces are searched for. */
export interface TraceQuery {
  readonly service: string;
  /** Empty: any. */
  readonly operation: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Such as `1.5ms`; empty: any. */
  readonly minDuration: string;
  readonly maxDuration: string;
  readonly limit: number;
  readonly range: TimeRange;
}

/** Returns the names of services. */
export async function traceServices(signal: AbortSignal): Promise<string[]> {
  return [...(await data<string[]>('services', {}, signal))].sort();
}

/** Returns the names of the spans of a service. */
export async function traceOperations(service: string, signal: AbortSignal): Promise<string[]> {
  return [...(await data<string[]>(`services/${encodeURIComponent(service)}/operations`, {}, signal))].sort();
}

/** Returns the latest traces that have a span with all of the properties. */
export function searchTraces(query: TraceQuery, signal: AbortSignal): Promise<readonly JaegerTrace[]> {
  const { service, operation, tags, minDuration, maxDuration, limit, range } = query;
  const parameters = {
    service,
    operation: operation || undefined,
    tags: Object.keys(tags).length === 0 ? undefined : JSON.stringify(tags),
    minDuration: minDuration || undefined,
    maxDuration: maxDuration || undefined,
    limit,
    start: Math.round(range.fromMs * 1000),
    end: Math.round(range.toMs * 1000),
  };
  return data('traces', parameters, signal);
}

/** Returns a trace with all of its spans. @throws RequestError with status 404 if there is none. */
export async function loadTrace(traceId: string, signal: AbortSignal): Promise<JaegerTrace> {
  const response = await call(`traces/${encodeURIComponent(traceId)}`, {}, signal);
  const reader = new TraceReader();
  let sinceMs = performance.now();
  for await (const text of bodyTexts(response)) {
    for (let at = 0; at < text.length; at += SLICE_UNITS) {
      reader.take(text.slice(at, at + SLICE_UNITS));
      if (performance.now() - sinceMs < BUSY_MS_MAX) continue;
      await yieldToPage();
      sinceMs = performance.now();
    }
  }
  const trace = reader.end();
  if (trace === undefined) throw new RequestError('trace not found', { status: 404 });
  return trace;
}

/** Returns how often services have called each other in a range. */
export function serviceCalls({ fromMs, toMs }: TimeRange, signal: AbortSignal): Promise<readonly ServiceCalls[]> {
  const parameters = { endTs: Math.ceil(toMs), lookback: Math.ceil(toMs - fromMs) };
  return data('dependencies', parameters, signal);
}

/** Text that is parsed before the page may do something else, in UTF-16 units, and the time for it. */
const SLICE_UNITS = 100_000;
const BUSY_MS_MAX = 20;

/** Returns rows of a table of logs that belong to a trace, the oldest first. */
export async function traceLogs(
  { table, condition }: { readonly table: string; readonly condition: string },
  range: TimeRange,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>[]> {
  const parameters = {
    db: database(),
    table,
    where: condition,
    start: new Date(range.fromMs).toISOString(),
    end: new Date(range.toMs).toISOString(),
    order: 'asc',
    limit: 1000,
  };
  const { rows } = await requestJson<{ readonly rows: Record<string, unknown>[] }>('v1/logs', { parameters, signal });
  return rows;
}

async function data<T>(
  path: string,
  parameters: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<T> {
  const reply = await replyJson<JaegerReply<T>>(await call(path, parameters, signal));
  return reply.data ?? ([] as T);
}

async function call(
  path: string,
  parameters: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await request(`v1/jaeger/api/${path}`, { parameters: { db: database(), ...parameters }, signal });
  } catch (error) {
    throw error instanceof RequestError ? ofJaeger(error) : error;
  }
}

/** Jaeger's errors are a list. */
function ofJaeger(error: RequestError): RequestError {
  try {
    const { errors } = JSON.parse(error.message) as { readonly errors: readonly { readonly msg: string }[] };
    return new RequestError(errors[0].msg, { status: error.status, queryId: error.queryId });
  } catch {
    return error;
  }
}
