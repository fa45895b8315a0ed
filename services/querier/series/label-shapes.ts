import { compareBytes, Labels } from './labels.js';

/** A node in the tree of label sequences: one label after the labels of its ancestors. */
interface ShapeStep {
  readonly name: string;
  readonly before: ShapeStep | undefined;
  readonly next: Map<string, ShapeStep>;
  /** Shape of the series whose last label is this one. */
  shape: LabelShape | undefined;
}

/** Sorted label names, shared by all series with the same sequence of labels. */
interface LabelShape {
  /** Ascending, each once. */
  readonly names: readonly string[];
  /** Position of each name's value in the sequence. */
  readonly positions: readonly number[];
}

/** Creates the labels of series. Series with the same label names share one sorted array of names. */
export class LabelShapes {
  readonly #first = newStep('', undefined);

  /** @param visit calls back with each non-empty label; of duplicate names the last one wins. */
  labels(visit: (add: (name: string, value: string) => void) => void): Labels {
    const values: string[] = [];
    let step = this.#first;
    visit((name, value) => {
      let next = step.next.get(name);
      if (next === undefined) step.next.set(name, (next = newStep(name, step)));
      step = next;
      values.push(value);
    });
    step.shape ??= shapeOf(step);
    const { names, positions } = step.shape;
    const sorted: string[] = [];
    for (const at of positions) sorted.push(values[at]);
    return Labels.sorted(names, sorted);
  }
}

function newStep(name: string, before: ShapeStep | undefined): ShapeStep {
  return { name, before, next: new Map(), shape: undefined };
}

function shapeOf(last: ShapeStep): LabelShape {
  const sequence: string[] = [];
  for (let step = last; step.before !== undefined; step = step.before) sequence.unshift(step.name);
  const names = [...new Set(sequence)].sort(compareBytes);
  return { names, positions: names.map((name) => sequence.lastIndexOf(name)) };
}
