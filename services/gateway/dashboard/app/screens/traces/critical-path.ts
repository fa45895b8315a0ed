import type { SpanTree } from './span-tree.js';

/** A time in which a span decides when the trace ends. */
export interface PathSection {
  /** Index of the node. */
  readonly node: number;
  readonly fromUs: number;
  readonly toUs: number;
}

/**
 * Returns the critical path of a trace, the latest section first: from the end of the longest root back to its start, at
 * each time the span that the others wait for. It is the algorithm of Jaeger's UI (Zhang et al., "CRISP", USENIX ATC 2022):
 * of the children that end before a time, the last one to end is on the path.
 */
export function criticalPath(tree: SpanTree): PathSection[] {
  const steps = pathSteps(tree);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Finds the same path in slices. @param pause called between them, to let the page handle input. */
export async function criticalPathInSlices(tree: SpanTree, pause: () => Promise<void>): Promise<PathSection[]> {
  const steps = pathSteps(tree);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await pause();
  }
}

/** Steps that are taken in a slice. */
const SLICE = 10_000;

function* pathSteps(tree: SpanTree): Generator<undefined, PathSection[]> {
  const { nodes } = tree;
  const root = longestRoot(tree);
  if (root === undefined) return [];
  const children = childrenOf(tree);
  yield;
  sortByEnd(children, tree);
  yield;
  const sections: PathSection[] = [];
  // Each entry continues a span at an earlier time; `next` is the first child that is still to be looked at.
  const open = [{ node: root, untilUs: nodes[root].endUs, next: 0 }];
  for (let step = 1; open.length > 0; step++) {
    if (step % SLICE === 0) yield;
    const top = open[open.length - 1];
    const { startUs } = nodes[top.node];
    const below = children[top.node] ?? [];
    let child: number | undefined;
    while (top.next < below.length && child === undefined) {
      const candidate = below[top.next++];
      // Children that end later do not hold the span up; parts before its start are not its own.
      if (nodes[candidate].endUs <= top.untilUs && nodes[candidate].endUs > startUs) child = candidate;
    }
    if (child === undefined) {
      add(sections, { node: top.node, fromUs: startUs, toUs: top.untilUs });
      open.pop();
      continue;
    }
    const { startUs: childStartUs, endUs: childEndUs } = nodes[child];
    add(sections, { node: top.node, fromUs: childEndUs, toUs: top.untilUs });
    top.untilUs = Math.max(startUs, childStartUs);
    open.push({ node: child, untilUs: childEndUs, next: 0 });
  }
  yield;
  return sections.sort((a, b) => b.toUs - a.toUs || b.fromUs - a.fromUs);
}

function add(sections: PathSection[], section: PathSection): void {
  if (section.toUs > section.fromUs) sections.push(section);
}

function longestRoot({ nodes }: SpanTree): number | undefined {
  let longest: number | undefined;
  nodes.forEach(({ depth, startUs, endUs }, i) => {
    if (depth !== 0) return;
    if (longest === undefined || endUs - startUs > nodes[longest].endUs - nodes[longest].startUs) longest = i;
  });
  return longest;
}

function childrenOf({ nodes }: SpanTree): number[][] {
  const children: number[][] = [];
  nodes.forEach(({ parent }, i) => {
    if (parent >= 0) (children[parent] ??= []).push(i);
  });
  return children;
}

/** Sorts the children of each node: the last one to end first. */
function sortByEnd(children: readonly number[][], { nodes }: SpanTree): void {
  for (const list of children) list?.sort((a, b) => nodes[b].endUs - nodes[a].endUs || b - a);
}
