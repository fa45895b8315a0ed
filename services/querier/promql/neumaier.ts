/** A sum with compensation of rounding errors. @see Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974 */
export class NeumaierSum {
  #sum = 0;
  #compensation = 0;

  /** The sum by now. Once infinite it stays so. */
  get value(): number {
    return this.#sum + this.#compensation;
  }

  add(x: number): void {
    const sum = this.#sum;
    const total = sum + x;
    if (total === Infinity || total === -Infinity) this.#compensation = 0;
    else if (Math.abs(sum) >= Math.abs(x)) this.#compensation += sum - total + x;
    else this.#compensation += x - total + sum;
    this.#sum = total;
  }

  /** Adds another sum with what it has compensated. */
  addSum(other: NeumaierSum): void {
    this.add(other.#sum);
    this.#compensation += other.#compensation;
  }

  scale(factor: number): void {
    this.#sum *= factor;
    this.#compensation *= factor;
  }
}
