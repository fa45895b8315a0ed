const PAGE_BYTES = 65_536;
const LARGE_BYTES = 1 << 23;

/** A module of `assembly`, and its memory. */
export class WasmModule<Exports> {
  readonly exports: Exports;
  /** First address that is free: the memory of a new module has its own data. */
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
  constructor(base64: string, name: string, imports: WebAssembly.Imports[string] = {}) {
    const module = new WebAssembly.Module(Buffer.from(base64, 'base64'));
    const exports = new WebAssembly.Instance(module, { [name]: imports }).exports as Exports & {
      readonly memory: WebAssembly.Memory;
    };
    this.exports = exports;
    this.#memory = exports.memory;
    const { buffer } = exports.memory;
    this.freeFrom = buffer.byteLength;
    this.bytes = new Uint8Array(buffer);
    this.words = new Int32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }

  /** Whether the memory has become so large that the module is better not kept: it never gets smaller. */
  get isLarge(): boolean {
    return this.bytes.length > LARGE_BYTES;
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
