/** A tag of a span, a process or an event, as Jaeger's API has it. */
export interface JaegerTag {
  readonly key: string;
  readonly type?: string;
  readonly value: unknown;
}

/** A span of Jaeger's API. Times are microseconds. */
export interface JaegerSpan {
  readonly spanID: string;
  readonly operationName: string;
  readonly references: readonly { readonly refType: string; readonly traceID: string; readonly spanID: string }[];
  readonly startTime: number;
  readonly duration: number;
  readonly tags: readonly JaegerTag[];
  readonly logs: readonly { readonly timestamp: number; readonly fields: readonly JaegerTag[] }[];
  readonly processID: string;
}

/** A trace of Jaeger's API. */
export interface JaegerTrace {
  readonly traceID: string;
  readonly spans: readonly JaegerSpan[];
  readonly processes: Readonly<Record<string, { readonly serviceName: string; readonly tags: readonly JaegerTag[] }>>;
}

/** A span with its place in the tree. */
export interface SpanNode {
  readonly span: JaegerSpan;
  readonly service: string;
  readonly resource: readonly JaegerTag[];
  readonly isError: boolean;
  /** 0 for roots. */
  readonly depth: number;
  /** Index of the parent in the list of nodes; -1 for roots. */
  readonly parent: number;
  /** Number of spans below it. The nodes of them follow it. */
  readonly descendantCount: number;
  readonly startUs: number;
  readonly endUs: number;
}

/** A trace as a tree: each node comes before its children, and these by their start. */
export interface SpanTree {
  readonly traceId: string;
  readonly nodes: readonly SpanNode[];
  readonly startUs: number;
  readonly endUs: number;
  /** In the order in which they are first called. */
  readonly services: readonly string[];
  readonly errorCount: number;
  /** Spans whose parent is not in the trace. */
  readonly orphanCount: number;
}

/** Makes a tree of the spans of a trace. Spans whose parent is missing, or below themselves, are roots. */
export function spanTree(trace: JaegerTrace): SpanTree {
  const steps = treeSteps(trace);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Makes the same tree in slices. @param pause called between them, to let the page handle input. */
export async function spanTreeInSlices(trace: JaegerTrace, pause: () => Promise<void>): Promise<SpanTree> {
  const steps = treeSteps(trace);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await pause();
  }
}

/** Spans that are handled in a slice. */
const SLICE = 5000;

function* treeSteps({ traceID: traceId, spans, processes }: JaegerTrace): Generator<undefined, SpanTree> {
  const byId = new Map<string, number>();
  for (let i = 0; i < spans.length; i++) {
    if (!byId.has(spans[i].spanID)) byId.set(spans[i].spanID, i);
    if (i % SLICE === SLICE - 1) yield;
  }
  const parentIds = spans.map((span) => parentId(span, traceId));
  yield;
  const parents = parentsOf(parentIds, byId);
  yield;
  const children = childrenOf(spans, parents);
  yield;
  const nodes: MutableNode[] = [];
  // A trace may be a chain of thousands of spans, too deep for recursion.
  const open = children.roots.map((index) => ({ index, parent: -1, depth: 0 })).reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { index, parent, depth } = next;
    const span = spans[index];
    const place = nodes.length;
    if (place % SLICE === SLICE - 1) yield;
    nodes.push({
      span,
      service: processes[span.processID]?.serviceName ?? '',
      resource: processes[span.processID]?.tags ?? [],
      isError: span.tags.some(({ key, value }) => key === 'error' && (value === true || value === 'true')),
      depth,
      parent,
      descendantCount: 0,
      startUs: span.startTime,
      endUs: span.startTime + span.duration,
    });
    const below = children.of[index] ?? [];
    for (let i = below.length - 1; i >= 0; i--) open.push({ index: below[i], parent: place, depth: depth + 1 });
  }
  yield;
  const orphanCount = parents.filter((parent, i) => parent === -1 && parentIds[i] !== undefined).length;
  return { traceId, nodes, orphanCount, ...totalsOf(nodes) };
}

type MutableNode = { -readonly [K in keyof SpanNode]: SpanNode[K] };

/** Counts the nodes below each node, and what the tree has of each kind. */
function totalsOf(nodes: MutableNode[]): Omit<SpanTree, 'traceId' | 'nodes' | 'orphanCount'> {
  let [startUs, endUs] = nodes.length === 0 ? [0, 0] : [Infinity, -Infinity];
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    if (node.parent >= 0) nodes[node.parent].descendantCount += node.descendantCount + 1;
    startUs = Math.min(startUs, node.startUs);
    endUs = Math.max(endUs, node.endUs);
  }
  return {
    startUs,
    endUs,
    services: [...new Set(nodes.map(({ service }) => service))],
    errorCount: nodes.filter(({ isError }) => isError).length,
  };
}

/** Returns the index of the parent of each span; -1 for roots. A cycle is cut at one of its spans. */
function parentsOf(ids: readonly (string | undefined)[], byId: ReadonlyMap<string, number>): number[] {
  const parents = ids.map((id) => (id === undefined ? -1 : (byId.get(id) ?? -1)));
  // 0: not visited; otherwise the number of the walk that visited it.
  const visited = new Uint32Array(parents.length);
  for (let start = 0; start < parents.length; start++) {
    for (let at = start, last = -1; at >= 0; last = at, at = parents[at]) {
      if (visited[at] === start + 1) {
        parents[last] = -1;
        break;
      }
      if (visited[at] !== 0) break;
      visited[at] = start + 1;
    }
  }
  return parents;
}

function parentId({ references }: JaegerSpan, traceId: string): string | undefined {
  return references.find(({ refType, traceID }) => refType === 'CHILD_OF' && traceID === traceId)?.spanID;
}

function childrenOf(spans: readonly JaegerSpan[], parents: readonly number[]): { of: number[][]; roots: number[] } {
  const of: number[][] = [];
  const roots: number[] = [];
  parents.forEach((parent, index) => {
    if (parent < 0) roots.push(index);
    else (of[parent] ??= []).push(index);
  });
  const byStart = (a: number, b: number): number => spans[a].startTime - spans[b].startTime || a - b;
  for (const list of of) list?.sort(byStart);
  roots.sort(byStart);
  return { of, roots };
}

/** Returns the indexes of the nodes that are shown, when those below collapsed ones are not. */
export function visibleNodes({ nodes }: SpanTree, collapsed: ReadonlySet<number>): number[] {
  const shown: number[] = [];
  for (let i = 0; i < nodes.length; i++) {
    shown.push(i);
    if (collapsed.has(i)) i += nodes[i].descendantCount;
  }
  return shown;
}

/** Returns the nodes with children at a depth, which hide everything deeper when they are collapsed. */
export function nodesAtDepth({ nodes }: SpanTree, depth: number): number[] {
  return nodes.flatMap((node, i) => (node.depth === depth && node.descendantCount > 0 ? [i] : []));
}

/** Returns the nodes of a service that have children. */
export function nodesOfService({ nodes }: SpanTree, service: string): number[] {
  return nodes.flatMap((node, i) => (node.service === service && node.descendantCount > 0 ? [i] : []));
}

/** Returns the depth of the deepest node. */
export function depthOf({ nodes }: SpanTree): number {
  return nodes.reduce((deepest, { depth }) => Math.max(deepest, depth), 0);
}
