/**
 * Changes that the items of a request make to the state of pipelines, such as the values that `dedupe` remembers. A request
 * that fails undoes them, so that the items are stored when it is sent again.
 */
export class StateJournal {
  readonly #undos: (() => void)[] = [];
  /**
   * Whether the items are run again after a failure: no limit of their flow holds, since what is dropped then is stored nowhere.
   */
  isReplay = false;

  /** Records how to undo a change. */
  add(undo: () => void): void {
    this.#undos.push(undo);
  }

  /** Undoes all changes, the last one first. */
  undo(): void {
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) undo();
  }
}
