import { AlmanacError } from '#shared/errors/almanac-error';

import type { Frame, ProfileBuilder } from './stacks.js';

/** A function as V8 reports it. Lines and columns are from 0. */
export interface V8CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** The parts of V8's CPU profile that are used (`Profiler.Profile` of the inspector protocol, a `.cpuprofile` file). */
export interface V8CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: V8CallFrame;
    readonly children?: readonly number[];
  }[];
  /** Microseconds of an unspecified clock. */
  readonly startTime: number;
  readonly endTime: number;
  /** ID of the node that each sample was in. */
  readonly samples?: readonly number[];
  /** Microseconds between each sample and the one before. */
  readonly timeDeltas?: readonly number[];
}

/** The parts of V8's heap profile that are used (`HeapProfiler.SamplingHeapProfile`, a `.heapprofile` file). */
export interface V8HeapProfile {
  readonly head: V8HeapNode;
}

/** A call with the memory that it allocated and that is still in use. */
export interface V8HeapNode {
  readonly callFrame: V8CallFrame;
  readonly selfSize: number;
  readonly children: readonly V8HeapNode[];
}

/** Finds the source of a function. */
export type FrameSource = (frame: V8CallFrame) => Frame;

/** How a profile of the process shows the samples of a thread. */
export interface CpuProfileTarget {
  /** Outermost frames of all its stacks. */
  readonly prefix: readonly number[];
  readonly sourceOf: FrameSource;
  /** CPU time of the thread, if known. */
  readonly cpuNanos?: number | undefined;
}

/** Deeper stacks are cut at their inner end. */
const DEPTH_MAX = 512;
const IDLE = '(idle)';
const ROOT = '(root)';

/**
 * Adds the samples of a CPU profile. Time in which the thread waited is left out; what is left is reduced in proportion
 * if it exceeds the CPU time of the thread.
 *
 * @returns nanoseconds that were added.
 * @throws `invalid_arguments` if the profile contradicts itself.
 */
export function addCpuProfile(
  builder: ProfileBuilder,
  { nodes, samples = [], timeDeltas = [] }: V8CpuProfile,
  { prefix, sourceOf, cpuNanos = Infinity }: CpuProfileTarget,
): number {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const isIdle = (id: number): boolean => byId.get(id)?.callFrame.functionName === IDLE;
  const times = [...timesOf(samples, timeDeltas)].filter(([id]) => !isIdle(id));
  const elapsed = times.reduce((sum, [, { micros }]) => sum + micros * 1000, 0);
  const share = elapsed > cpuNanos ? cpuNanos / elapsed : 1;
  let total = 0;
  for (const [id, { count, micros }] of times) {
    const stack: number[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = byId.get(at);
      if (node === undefined || stack.length > nodes.length) throw malformed();
      if (node.callFrame.functionName !== ROOT) stack.push(builder.frame(sourceOf(node.callFrame)));
    }
    const value = Math.round(micros * 1000 * share);
    builder.add({ stack: [...prefix, ...stack.reverse().slice(0, DEPTH_MAX)], count, value });
    total += value;
  }
  return total;
}

/** Returns the number of samples in each node, and their time. */
function timesOf(
  samples: readonly number[],
  timeDeltas: readonly number[],
): ReadonlyMap<number, { readonly count: number; readonly micros: number }> {
  const times = new Map<number, { count: number; micros: number }>();
  for (const [i, id] of samples.entries()) {
    const known = times.get(id) ?? { count: 0, micros: 0 };
    known.count++;
    known.micros += Math.max(0, timeDeltas[i] ?? 0);
    times.set(id, known);
  }
  return times;
}

/**
 * Adds the allocations of a heap profile.
 *
 * @param prefix outermost frames of all its stacks.
 * @returns bytes that were added.
 */
export function addHeapProfile(
  builder: ProfileBuilder,
  { head }: V8HeapProfile,
  prefix: readonly number[],
  sourceOf: FrameSource,
): number {
  let total = 0;
  const rest: { node: V8HeapNode; stack: readonly number[] }[] = [{ node: head, stack: prefix }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { node, stack } = next;
    const isNamed = node.callFrame.functionName !== ROOT && stack.length < DEPTH_MAX;
    const own = isNamed ? [...stack, builder.frame(sourceOf(node.callFrame))] : stack;
    if (node.selfSize > 0 && own.length > 0) {
      builder.add({ stack: own, count: 1, value: node.selfSize });
      total += node.selfSize;
    }
    for (const child of node.children) rest.push({ node: child, stack: own });
  }
  return total;
}

function malformed(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'the CPU profile has a sample outside of its tree of calls');
}
