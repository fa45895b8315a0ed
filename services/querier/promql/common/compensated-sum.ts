/** A sum with compensation of rounding errors. @see Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974 */
export class NeumaierSum {
  #sum = 0;
  #compensation = 0;

  /** The compensated sum. Once infinite it remains infinite. */
  get value(): number {
    return this.#sum + this.#compensation;
  }

  /** The sum without compensation. */
  get sum(): number {
    return this.#sum;
  }

  /** The accumulated rounding error. */
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

  /** Adds another sum including its compensation. */
  addSum(other: NeumaierSum): void {
    this.addPart(other.#sum, other.#compensation);
  }

  /** Adds a partial sum and its compensation. */
  addPart(sum: number, compensation: number): void {
    this.add(sum);
    this.#compensation += compensation;
  }

  scale(factor: number): void {
    this.#sum *= factor;
    this.#compensation *= factor;
  }
}

/** The mean of numbers added one by one: a compensated sum, then an incremental mean once the sum would overflow. */
export class RunningMean {
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
