/** The compiled module of the package, whose own functions copy each result twice. */
declare module '@foxglove/wasm-zstd/dist/wasm-zstd.js' {
  interface ZstdModule {
    /** All memory; replaced when it grows. */
    readonly HEAPU8: Uint8Array;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    /** Returns the number of bytes after decompression; -1 for an error. */
    _decompress(target: number, targetBytes: number, source: number, sourceBytes: number): number;
  }
  function load(): Promise<ZstdModule>;
  export = load;
}
