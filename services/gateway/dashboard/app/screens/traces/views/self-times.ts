import type { SpanTree } from '../span-tree.js';

/**
 * Returns, for each node, how long it ran while none of its children did, in microseconds. What children do before their
 * parent begins, or after it has ended, is not part of its time.
 */
export function selfTimes({ nodes }: SpanTree): Float64Array {
  const self = new Float64Array(nodes.length);
  // Children follow their parent by their start, so that the time that they cover together grows in one direction.
  const coveredToUs = new Float64Array(nodes.length);
  nodes.forEach(({ startUs, endUs, parent }, i) => {
    self[i] = endUs - startUs;
    coveredToUs[i] = startUs;
    if (parent < 0) return;
    const fromUs = Math.max(startUs, coveredToUs[parent]);
    const toUs = Math.min(endUs, nodes[parent].endUs);
    if (toUs <= fromUs) return;
    self[parent] -= toUs - fromUs;
    coveredToUs[parent] = toUs;
  });
  return self;
}
