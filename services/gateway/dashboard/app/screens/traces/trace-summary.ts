import type { SpanTree } from './span-tree.js';

/** A trace in the list of those that were found. */
export interface TraceSummary {
  readonly traceId: string;
  readonly service: string;
  readonly operation: string;
  readonly startUs: number;
  readonly durationUs: number;
  readonly spanCount: number;
  readonly errorCount: number;
  readonly services: readonly string[];
}

/** Returns what the list shows of a trace. Its name is that of its first span. */
export function traceSummary({ traceId, nodes, startUs, endUs, errorCount, services }: SpanTree): TraceSummary {
  const [root] = nodes;
  return {
    traceId,
    service: root?.service ?? '',
    operation: root?.span.operationName ?? '',
    startUs,
    durationUs: endUs - startUs,
    spanCount: nodes.length,
    errorCount,
    services,
  };
}
