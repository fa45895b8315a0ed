import type { SpanTree } from '../span-tree.js';
import { selfTimes } from './self-times.js';

/** The spans of one operation of a service. Times are microseconds. */
export interface OperationStatistics {
  readonly service: string;
  readonly operation: string;
  readonly count: number;
  readonly errorCount: number;
  /** Sum of the durations; spans within others of the same operation count too. */
  readonly totalUs: number;
  /** Sum of the times in which no child ran. */
  readonly selfUs: number;
  readonly averageUs: number;
  /** The duration that 95 % of the spans do not exceed. */
  readonly p95Us: number;
}

/** Returns what each operation took, in the order of the first calls. */
export function operationStatistics(tree: SpanTree): OperationStatistics[] {
  const self = selfTimes(tree);
  const groups = new Map<string, { readonly nodes: number[] }>();
  tree.nodes.forEach(({ service, span: { operationName } }, i) => {
    const key = `${service}\u0000${operationName}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { nodes: [i] });
    else group.nodes.push(i);
  });
  return Array.from(groups.values(), ({ nodes }) => statisticsOf(nodes, tree, self));
}

function statisticsOf(nodes: readonly number[], tree: SpanTree, self: Float64Array): OperationStatistics {
  const { service, span } = tree.nodes[nodes[0]];
  const durations = Float64Array.from(nodes, (node) => tree.nodes[node].span.duration).sort();
  const totalUs = durations.reduce((sum, duration) => sum + duration, 0);
  return {
    service,
    operation: span.operationName,
    count: nodes.length,
    errorCount: nodes.filter((node) => tree.nodes[node].isError).length,
    totalUs,
    selfUs: nodes.reduce((sum, node) => sum + self[node], 0),
    averageUs: totalUs / nodes.length,
    p95Us: durations[Math.ceil(nodes.length * 0.95) - 1],
  };
}
