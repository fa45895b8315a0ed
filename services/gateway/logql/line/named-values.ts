/** Names whose slots are kept between lines. */
const SLOTS_MAX = 1_000;

/**
 * A small map that is filled and cleared for each line. Names keep their slots, so that clearing takes no time, where a `Map`
 * allocates its table again for each line.
 */
export class NamedValues {
  readonly #slots = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #values: string[] = [];
  /** Number of the line that set the value of each slot. */
  readonly #setIn: number[] = [];
  /** Slots of this line, in the order in which they were set. */
  readonly #order: number[] = [];
  #line = 1;

  clear(): void {
    this.#line++;
    this.#order.length = 0;
    if (this.#names.length < SLOTS_MAX) return;
    this.#slots.clear();
    this.#names.length = 0;
    this.#values.length = 0;
    this.#setIn.length = 0;
  }

  get(name: string): string | undefined {
    const slot = this.#slots.get(name);
    return slot !== undefined && this.#setIn[slot] === this.#line ? this.#values[slot] : undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, value: string): void {
    let slot = this.#slots.get(name);
    if (slot === undefined) {
      slot = this.#names.length;
      this.#slots.set(name, slot);
      this.#names.push(name);
      this.#values.push(value);
      this.#setIn.push(0);
    }
    if (this.#setIn[slot] !== this.#line) this.#order.push(slot);
    this.#setIn[slot] = this.#line;
    this.#values[slot] = value;
  }

  delete(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined || this.#setIn[slot] !== this.#line) return;
    this.#setIn[slot] = 0;
    this.#order.splice(this.#order.indexOf(slot), 1);
  }

  /** Calls `visit` for each name, in the order in which they were set. */
  each(visit: (name: string, value: string) => void): void {
    for (const slot of this.#order) visit(this.#names[slot], this.#values[slot]);
  }
}
