/** A function, as a profile names it. */
export interface FlameFrame {
  readonly name: string;
  /** Source file; empty if unknown. */
  readonly file: string;
  /** From 1; 0 if unknown. */
  readonly line: number;
}

/** How much each stack of calls took: what `output=json` of profiles returns. */
export interface FlameData {
  readonly unit: string;
  readonly total: number;
  readonly frames: readonly FlameFrame[];
  /** Positions in `frames`, the outermost call first. */
  readonly stacks: readonly (readonly number[])[];
  /** What each stack took itself, in `unit`. */
  readonly values: readonly number[];
}

/** A call of a function by one chain of callers. */
export interface FlameNode {
  /** Position in `frames`; -1 for the root. */
  readonly frame: number;
  /** Index of the caller's node; -1 for the root. */
  readonly parent: number;
  /** 0 for the root. */
  readonly depth: number;
  /** Sum of what lies to the left of it. */
  readonly start: number;
  /** With everything that it calls. */
  readonly value: number;
  /** Without it. */
  readonly self: number;
  /** `value` of the same calls in the profile that this one is compared with, as if both had the same total; 0 without one. */
  readonly base: number;
}

/** The calls of a profile as a tree; each node comes after its caller and before its caller's next callee. */
export interface FlameTree {
  readonly nodes: readonly FlameNode[];
  /** Levels, with the root. */
  readonly levelCount: number;
}

interface Growing {
  readonly frame: number;
  readonly children: Map<number, Growing>;
  value: number;
  self: number;
  base: number;
}

function growing(frame: number): Growing {
  return { frame, children: new Map(), value: 0, self: 0, base: 0 };
}

/**
 * Joins the stacks of a profile. Of the callees of a node the one that took most comes first.
 *
 * @param isInverted shows callers below callees.
 * @param base the profile that it is compared with.
 */
export function flameTree(data: FlameData, isInverted = false, base?: FlameData): FlameTree {
  const { stacks, values, frames } = data;
  const root = growing(-1);
  for (const [i, stack] of stacks.entries()) {
    const value = values[i];
    let node = root;
    root.value += value;
    for (let at = 0; at < stack.length; at++) {
      const frame = stack[isInverted ? stack.length - 1 - at : at];
      let child = node.children.get(frame);
      if (child === undefined) node.children.set(frame, (child = growing(frame)));
      child.value += value;
      node = child;
    }
    node.self += value;
  }
  if (base !== undefined) addBase(root, data, base, isInverted);
  return ordered(root, frames);
}

/** Adds another profile to the nodes that it has too. */
function addBase(root: Growing, data: FlameData, base: FlameData, isInverted: boolean): void {
  const frameOf = new Map(data.frames.map((frame, i) => [frameKey(frame), i]));
  const frames = base.frames.map((frame) => frameOf.get(frameKey(frame)) ?? -1);
  const scale = base.total === 0 ? 0 : data.total / base.total;
  for (const [i, stack] of base.stacks.entries()) {
    const value = base.values[i] * scale;
    root.base += value;
    let node: Growing | undefined = root;
    for (let at = 0; at < stack.length; at++) {
      node = node.children.get(frames[stack[isInverted ? stack.length - 1 - at : at]]);
      if (node === undefined) break;
      node.base += value;
    }
  }
}

/** Identifies a function in several profiles: its line moves when others are edited. */
function frameKey({ name, file }: FlameFrame): string {
  return `${name}\n${file}`;
}

/** Lists a tree; without recursion, because stacks may be deep. */
function ordered(root: Growing, frames: readonly FlameFrame[]): FlameTree {
  const nodes: FlameNode[] = [];
  const waiting = [{ node: root, parent: -1, depth: 0, start: 0 }];
  let levelCount = 1;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, parent, depth, start } = next;
    const { frame, value, self, base } = node;
    const index = nodes.push({ frame, parent, depth, start, value, self, base }) - 1;
    levelCount = Math.max(levelCount, depth + 1);
    const children = [...node.children.values()].sort(
      (a, b) => b.value - a.value || (frames[a.frame].name < frames[b.frame].name ? -1 : 1),
    );
    let end = start + children.reduce((sum, { value }) => sum + value, 0);
    // The last one is taken from the end first.
    for (const child of children.reverse()) {
      end -= child.value;
      waiting.push({ node: child, parent: index, depth: depth + 1, start: end });
    }
  }
  return { nodes, levelCount };
}

/** A node as it is drawn. */
export interface FlameBox {
  /** Index of the node. */
  readonly node: number;
  readonly x: number;
  readonly width: number;
  readonly depth: number;
}

/** Narrower boxes cannot be seen. */
const WIDTH_MIN = 0.5;

/** Returns the boxes of the nodes that are wide enough, while one of them fills the width. @param focus index of that one. */
export function flameBoxes({ nodes }: FlameTree, focus: number, width: number): FlameBox[] {
  const { start, value } = nodes[focus];
  const scale = value === 0 ? 0 : width / value;
  const ancestors = new Set<number>();
  for (let at = nodes[focus].parent; at !== -1; at = nodes[at].parent) ancestors.add(at);
  const boxes: FlameBox[] = [];
  for (const [i, node] of nodes.entries()) {
    if (ancestors.has(i)) {
      boxes.push({ node: i, x: 0, width, depth: node.depth });
      continue;
    }
    const boxWidth = node.value * scale;
    const isBelow = i >= focus && node.start >= start && node.start + node.value <= start + value;
    if (isBelow && boxWidth >= WIDTH_MIN) {
      boxes.push({ node: i, x: (node.start - start) * scale, width: boxWidth, depth: node.depth });
    }
  }
  return boxes;
}

/** What a function took, over all its callers. */
export interface FrameSum {
  readonly frame: number;
  readonly self: number;
  /** With what it calls; a recursive call counts once. */
  readonly total: number;
}

/** Returns what each function took. */
export function frameSums({ frames, stacks, values }: FlameData): FrameSum[] {
  const self = new Float64Array(frames.length);
  const total = new Float64Array(frames.length);
  // The last stack that counted a frame.
  const counted = new Int32Array(frames.length).fill(-1);
  for (const [i, stack] of stacks.entries()) {
    if (stack.length > 0) self[stack[stack.length - 1]] += values[i];
    for (const frame of stack) {
      if (counted[frame] !== i) total[frame] += values[i];
      counted[frame] = i;
    }
  }
  return frames.map((_, frame) => ({ frame, self: self[frame], total: total[frame] }));
}

/** A function in two profiles: its shares of them, from 0 to 1. */
export interface FrameChange {
  readonly name: string;
  readonly file: string;
  readonly before: number;
  readonly after: number;
}

/** Returns what part of each of two profiles each function took itself. */
export function frameChanges(base: FlameData, data: FlameData): FrameChange[] {
  const changes = new Map<string, { name: string; file: string; before: number; after: number }>();
  const add = (of: FlameData, member: 'before' | 'after'): void => {
    for (const { frame, self } of frameSums(of)) {
      const { name, file } = of.frames[frame];
      const key = frameKey(of.frames[frame]);
      const change = changes.get(key) ?? { name, file, before: 0, after: 0 };
      changes.set(key, change);
      if (of.total > 0) change[member] += self / of.total;
    }
  };
  add(base, 'before');
  add(data, 'after');
  return [...changes.values()];
}

/** Whether a function is found by a search: all words are in its name or file. */
export function isFound({ name, file }: Pick<FlameFrame, 'name' | 'file'>, search: string): boolean {
  const text = `${name} ${file}`.toLowerCase();
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return words.length > 0 && words.every((word) => text.includes(word));
}

/** Returns how much of a profile is in stacks with a function that a search finds. */
export function foundValue({ frames, stacks, values }: FlameData, search: string): number {
  const found = frames.map((frame) => isFound(frame, search));
  return stacks.reduce((sum, stack, i) => (stack.some((frame) => found[frame]) ? sum + values[i] : sum), 0);
}
