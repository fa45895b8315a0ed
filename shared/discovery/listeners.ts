/** A list of callbacks, called in the order in which they were added. */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /** Adds a callback. @returns a function that removes it. */
  add(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  notify(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
