/** A sum with compensation of rounding errors. @see Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974 */
export class NeumaierSum {
  #sum = 0;
  #compensation = 0;

  /** The sum by now. Once infinite it stays so. */
  get value(): number {
    return this.#sum + this.#compensation;
  }

  /** The sum without what rounding took from it. */
  get sum(): number {
    return this.#sum;
  }

  /** What rounding took. */
  get compensation(): number {
    return this.#compensation;
  }

  add(x: number): void {
    const sum = this.#sum;
    const total = sum + x;
    if (total === Infinity || total === -Infinity) this.#compensation = 0;
    else if (Math.abs(sum) >= Math.abs(x)) this.#compensation += sum - total + x;
    else this.#compensation += x - total + sum;
    this.#sum = total;
  }

  /** Adds the values `[from, to)`. */
  addAll(values: Float64Array, from: number, to: number): void {
    let sum = this.#sum;
    let compensation = this.#compensation;
    for (let i = from; i < to; i++) {
      const x = values[i];
      const total = sum + x;
      if (total === Infinity || total === -Infinity) compensation = 0;
      else if (Math.abs(sum) >= Math.abs(x)) compensation += sum - total + x;
      else compensation += x - total + sum;
      sum = total;
    }
    this.#sum = sum;
    this.#compensation = compensation;
  }

  /** Adds another sum with what it has compensated. */
  addSum(other: NeumaierSum): void {
    this.addPart(other.#sum, other.#compensation);
  }

  /** Adds a sum that was made elsewhere, and what rounding took from it. */
  addPart(sum: number, compensation: number): void {
    this.add(sum);
    this.#compensation += compensation;
  }

  scale(factor: number): void {
    this.#sum *= factor;
    this.#compensation *= factor;
  }
}

/**
 * The mean of numbers that are added one by one: a compensated sum, or an incremental mean from where the sum would be
 * infinite.
 */
export class Mean {
  #count = 0;
  #sum = 0;
  #compensation = 0;
  #isIncremental = false;

  get count(): number {
    return this.#count;
  }

  add(x: number): void {
    const n = ++this.#count;
    if (!this.#isIncremental) {
      const sum = this.#sum;
      const compensation = this.#compensation;
      this.#increase(x);
      if (n === 1 || Number.isFinite(this.#sum) || Number.isNaN(this.#sum)) return;
      this.#isIncremental = true;
      this.#sum = sum / (n - 1);
      this.#compensation = compensation / (n - 1);
    }
    const share = (n - 1) / n;
    this.#sum *= share;
    this.#compensation *= share;
    this.#increase(x / n);
  }

  get value(): number {
    if (this.#isIncremental) return this.#sum + this.#compensation;
    return this.#sum / this.#count + this.#compensation / this.#count;
  }

  #increase(x: number): void {
    const sum = this.#sum;
    const total = sum + x;
    if (total === Infinity || total === -Infinity) this.#compensation = 0;
    else if (Math.abs(sum) >= Math.abs(x)) this.#compensation += sum - total + x;
    else this.#compensation += x - total + sum;
    this.#sum = total;
  }
}
