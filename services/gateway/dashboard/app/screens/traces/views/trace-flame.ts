import type { FlameData, FlameFrame } from '../../../widgets/flame/flame-data.js';
import type { SpanTree } from '../span-tree.js';
import { selfTimes } from './self-times.js';

/** Levels of a flame graph of a trace. Time of deeper spans is that of the last level. */
export const LEVELS_MAX = 100;

/** Returns the times of a trace by chains of operations: spans of one operation with the same callers are one. */
export function traceFlame(tree: SpanTree): FlameData {
  const self = selfTimes(tree);
  const frames: FlameFrame[] = [];
  const frameOf = new Map<string, number>();
  const chains: { readonly stack: readonly number[]; readonly below: Map<number, number>; value: number }[] = [];
  const roots = new Map<number, number>();
  // By node: its chain.
  const chainOf = new Int32Array(tree.nodes.length);
  let total = 0;
  tree.nodes.forEach(({ service, span: { operationName }, parent, depth }, i) => {
    total += self[i];
    if (depth >= LEVELS_MAX) chainOf[i] = chainOf[parent];
    else {
      const key = `${service}\u0000${operationName}`;
      const frame = frameOf.get(key) ?? frames.push({ name: operationName, file: service, line: 0 }) - 1;
      frameOf.set(key, frame);
      const caller = parent < 0 ? undefined : chains[chainOf[parent]];
      const siblings = caller?.below ?? roots;
      let chain = siblings.get(frame);
      if (chain === undefined) {
        chain = chains.push({ stack: [...(caller?.stack ?? []), frame], below: new Map(), value: 0 }) - 1;
        siblings.set(frame, chain);
      }
      chainOf[i] = chain;
    }
    chains[chainOf[i]].value += self[i];
  });
  return {
    unit: 'microseconds',
    total,
    frames,
    stacks: chains.map(({ stack }) => stack),
    values: chains.map(({ value }) => value),
  };
}
