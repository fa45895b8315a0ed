/** Memory for arrays that are needed for a short time: new memory takes longer to allocate than to fill, and is garbage afterwards. */
export class ScratchArrays {
  readonly #free: ArrayBuffer[] = [];
  readonly #taken: ArrayBuffer[] = [];

  /** Returns memory of at least that size, with any content, until `reset`. */
  take(bytes: number): ArrayBuffer {
    const at = this.#free.findIndex(({ byteLength }) => byteLength >= bytes);
    // A larger one replaces one that is too small, so that there are only as many as are taken at once.
    const [free] = this.#free.splice(at, 1);
    const buffer = at === -1 ? new ArrayBuffer(bytes) : free;
    this.#taken.push(buffer);
    return buffer;
  }

  /** Makes all memory free again. */
  reset(): void {
    this.#free.push(...this.#taken.splice(0));
  }
}
