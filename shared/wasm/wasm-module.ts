/** What every module exports. */
interface CommonExports {
  readonly memory: WebAssembly.Memory;
  /** First address that is free. */
  readonly freeFrom: WebAssembly.Global;
}

const PAGE_BYTES = 65_536;

/** A module of `assembly`, and its memory. */
export class WasmModule<Exports> {
  readonly exports: Exports;
  /** First address that is free, a multiple of 16. */
  readonly freeFrom: number;
  /** The memory; replaced by `reserve`. */
  bytes: Uint8Array<ArrayBuffer>;
  /** The same memory. */
  words: Int32Array<ArrayBuffer>;
  doubles: Float64Array<ArrayBuffer>;
  readonly #memory: WebAssembly.Memory;

  /**
   * @param base64 of the module
   * @param name of its source
   * @param imports functions that the source declares
   */
  constructor(base64: string, name: string, imports: Readonly<Record<string, (...numbers: number[]) => number>> = {}) {
    const module = new WebAssembly.Module(Buffer.from(base64, 'base64'));
    const exports = new WebAssembly.Instance(module, { [name]: imports }).exports as Exports & CommonExports;
    this.exports = exports;
    this.freeFrom = (exports.freeFrom.value + 15) & ~15;
    this.#memory = exports.memory;
    const { buffer } = exports.memory;
    this.bytes = new Uint8Array(buffer);
    this.words = new Int32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }

  /** Makes the memory at least that large. @throws RangeError if it cannot be */
  reserve(bytes: number): void {
    const missing = bytes - this.bytes.length;
    if (missing <= 0) return;
    this.#memory.grow(Math.ceil(missing / PAGE_BYTES));
    const { buffer } = this.#memory;
    this.bytes = new Uint8Array(buffer);
    this.words = new Int32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }
}
