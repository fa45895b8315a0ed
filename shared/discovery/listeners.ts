/** Functions that want to be told of something, called in the order in which they were added. */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /** @returns a function that takes the listener away again. */
  add(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
