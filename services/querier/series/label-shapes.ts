import { compareBytes, Labels } from './labels.js';

/** A label behind others, in the order in which series tell theirs. */
interface ShapeStep {
  readonly name: string;
  readonly before: ShapeStep | undefined;
  readonly next: Map<string, ShapeStep>;
  /** Of the series that end here. */
  shape: Shape | undefined;
}

interface Shape {
  /** Ascending, each once. */
  readonly names: readonly string[];
  /** Where the value of each is told. */
  readonly places: readonly number[];
}

/** Makes labels of series: those that have the same labels share their names, which are sorted once. */
export class LabelShapes {
  readonly #first = newStep('', undefined);

  /** @param tell calls back with each label, none of them empty; of equal names the last counts. */
  labels(tell: (add: (name: string, value: string) => void) => void): Labels {
    const told: string[] = [];
    let step = this.#first;
    tell((name, value) => {
      let next = step.next.get(name);
      if (next === undefined) step.next.set(name, (next = newStep(name, step)));
      step = next;
      told.push(value);
    });
    step.shape ??= shapeOf(step);
    const { names, places } = step.shape;
    return Labels.sorted(
      names,
      places.map((at) => told[at]),
    );
  }
}

function newStep(name: string, before: ShapeStep | undefined): ShapeStep {
  return { name, before, next: new Map(), shape: undefined };
}

function shapeOf(last: ShapeStep): Shape {
  const told: string[] = [];
  for (let step = last; step.before !== undefined; step = step.before) told.unshift(step.name);
  const names = [...new Set(told)].sort(compareBytes);
  return { names, places: names.map((name) => told.lastIndexOf(name)) };
}
