import { useRef } from 'preact/hooks';

import { isAbort, request } from '../../core/http.js';
import { loadNodes } from '../../data/nodes.js';
import { nodeParameter, type ServerNode } from '../../data/server-node.js';
import { usePolled, type Polled } from '../../widgets/use-polled.js';
import { sampleOf, type TimedSample } from './metrics-text.js';

/** A process and its samples, the oldest first; none if it did not reply. */
export interface SampledNode {
  readonly node: ServerNode;
  readonly samples: readonly TimedSample[];
}

const EVERY_MS = 5000;
/** Samples of one hour. */
const SAMPLES_MAX = 720;

/** Loads all processes and samples their metrics, while the screen is open. */
export function useSampledNodes(): Polled<readonly SampledNode[]> {
  const kept = useRef(new Map<string, readonly TimedSample[]>()).current;
  return usePolled(
    async (signal) => {
      const nodes = await loadNodes(signal);
      await Promise.all(
        nodes.map(async (node) => {
          const key = keyOf(node);
          const sample = node.reachable ? await sampleNode(node, signal) : undefined;
          if (sample !== undefined) kept.set(key, [...(kept.get(key) ?? []), sample].slice(-SAMPLES_MAX));
        }),
      );
      const keys = new Set(nodes.map(keyOf));
      for (const key of kept.keys()) if (!keys.has(key)) kept.delete(key);
      return nodes.map((node) => ({ node, samples: node.reachable ? (kept.get(keyOf(node)) ?? []) : [] }));
    },
    [],
    EVERY_MS,
  );
}

function keyOf({ role, node_id: id }: ServerNode): string {
  return `${role} ${id}`;
}

/** Returns the metrics of a process; undefined if it does not reply, which its state shows. */
async function sampleNode(node: ServerNode, signal: AbortSignal): Promise<TimedSample | undefined> {
  try {
    const response = await request('metrics', { parameters: { node: nodeParameter(node) }, signal });
    const sample = sampleOf(await response.text());
    return { atMs: performance.now(), sample };
  } catch (error) {
    if (isAbort(error)) throw error;
    return undefined;
  }
}
