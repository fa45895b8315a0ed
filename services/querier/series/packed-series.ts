import { FlagBlocks, IntegerBlocks } from './blocks.js';

/**
 * Shapes, and labels in all of them, above which the labels of a series are stored with it: tables may have other labels in
 * every series.
 */
const SHAPES_MAX = 4096;
const SHAPE_LABELS_MAX = 1 << 16;
/** Memory of a shape and its last step, and of each label with its step in the tree, about. */
const SHAPE_BYTES = 512;
const SHAPE_LABEL_BYTES = 280;

/** Labels that series have in common. */
interface Shape {
  /** Positions of the labels, in the order in which values are stored. */
  readonly positions: readonly number[];
  /** Place of each label in this order. */
  readonly places: ReadonlyMap<number, number>;
}

/** A node in the tree of shapes: one label after the labels of its ancestors. */
interface ShapeStep {
  readonly next: Map<number, ShapeStep>;
  /** Number of the shape whose last label is this one; 0: there is none. */
  number: number;
}

/**
 * Values of the labels of all series, as numbers, in few bytes: most labels have fewer than 128 or 16,384 values, whose
 * numbers take one or two bytes.
 *
 * ```
 * series  = shape number, value number of each label of the shape
 *         | 0, label count, (label position, value number) ..
 * numbers = 7 bits a byte, the lowest first; the highest bit of a byte says that another follows
 * ```
 */
export class PackedSeries {
  count = 0;
  readonly #bytes = new FlagBlocks();
  /** Offset of each series in `#bytes`. */
  readonly #starts = new IntegerBlocks();
  /** Shapes by number; none has number 0. */
  readonly #shapes: Shape[] = [{ positions: [], places: new Map() }];
  readonly #root: ShapeStep = { next: new Map(), number: 0 };
  #shapeLabels = 0;
  /** Next byte that `#next` reads. */
  #at = 0;

  /** Memory in bytes, about. */
  get bytes(): number {
    const shapes = this.#shapes.length * SHAPE_BYTES + this.#shapeLabels * SHAPE_LABEL_BYTES;
    return this.#bytes.capacity + 4 * this.#starts.capacity + shapes;
  }

  /** Adds a series. @param positions labels, each once @param numbers value of each */
  add(positions: readonly number[], numbers: readonly number[]): void {
    this.#starts.extend(this.count + 1);
    this.#starts.set(this.count, this.#bytes.length);
    const shape = this.#shapeOf(positions);
    this.#push(shape);
    if (shape === 0) this.#push(positions.length);
    for (let i = 0; i < positions.length; i++) {
      if (shape === 0) this.#push(positions[i]);
      this.#push(numbers[i]);
    }
    this.count++;
  }

  /** Returns the value number of the label at `position`; -1 if the series lacks the label. */
  valueOf(sid: number, position: number): number {
    this.#at = this.#starts.get(sid);
    const shape = this.#next();
    if (shape === 0) {
      for (let left = this.#next(); left > 0; left--) {
        const isFound = this.#next() === position;
        const number = this.#next();
        if (isFound) return number;
      }
      return -1;
    }
    const place = this.#shapes[shape].places.get(position);
    if (place === undefined) return -1;
    for (let i = 0; i < place; i++) this.#next();
    return this.#next();
  }

  /** Calls `visit` with position and value number of each label of a series, in the order in which they were added. */
  visit(sid: number, visit: (position: number, number: number) => void): void {
    this.#at = this.#starts.get(sid);
    const shape = this.#next();
    const { positions } = this.#shapes[shape];
    const count = shape === 0 ? this.#next() : positions.length;
    for (let i = 0; i < count; i++) {
      const position = shape === 0 ? this.#next() : positions[i];
      const number = this.#next();
      // `visit` may read other series.
      const at = this.#at;
      visit(position, number);
      this.#at = at;
    }
  }

  #next(): number {
    const bytes = this.#bytes;
    let byte = bytes.get(this.#at++);
    if (byte < 0x80) return byte;
    let number = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = bytes.get(this.#at++);
      number |= (byte & 0x7f) << shift;
    }
    return number;
  }

  #push(number: number): void {
    let rest = number;
    for (; rest >= 0x80; rest >>>= 7) this.#pushByte((rest & 0x7f) | 0x80);
    this.#pushByte(rest);
  }

  #pushByte(byte: number): void {
    const at = this.#bytes.length;
    this.#bytes.extend(at + 1);
    this.#bytes.set(at, byte);
  }

  /** Returns the number of a shape; 0 if it is new and there are too many. */
  #shapeOf(positions: readonly number[]): number {
    const isFull = this.#shapes.length > SHAPES_MAX || this.#shapeLabels + positions.length > SHAPE_LABELS_MAX;
    let step = this.#root;
    for (const position of positions) {
      let next = step.next.get(position);
      if (next === undefined) {
        if (isFull) return 0;
        step.next.set(position, (next = { next: new Map(), number: 0 }));
      }
      step = next;
    }
    if (step.number === 0 && !isFull) {
      step.number = this.#shapes.length;
      const places = new Map(positions.map((position, place) => [position, place]));
      this.#shapes.push({ positions: [...positions], places });
      this.#shapeLabels += positions.length;
    }
    return step.number;
  }
}
