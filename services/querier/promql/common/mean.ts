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
