/** Holds its callers until it is opened, and reports that one has arrived. */
export class Gate {
  #tell: () => void = () => undefined;
  #open: () => void = () => undefined;
  readonly reached = new Promise<void>((resolve) => (this.#tell = resolve));
  readonly #opened = new Promise<void>((resolve) => (this.#open = resolve));

  pass(): Promise<void> {
    this.#tell();
    return this.#opened;
  }

  open(): void {
    this.#open();
  }
}
