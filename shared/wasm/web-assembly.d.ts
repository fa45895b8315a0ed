/** The part of WebAssembly's interface that is used: TypeScript declares it for browsers only. */
declare namespace WebAssembly {
  /** Functions that a module imports, by the name of its source. */
  type Imports = Readonly<Record<string, Readonly<Record<string, (...numbers: number[]) => number>>>>;
  interface Module {
    readonly [Symbol.toStringTag]: 'WebAssembly.Module';
  }
  interface Instance {
    readonly exports: unknown;
  }
  interface Memory {
    /** Replaced when the memory grows. */
    readonly buffer: ArrayBuffer;
    /** @param pages of 64 KiB */
    grow(pages: number): void;
  }
  const Module: new (bytes: Uint8Array) => Module;
  const Instance: new (module: Module, imports: Imports) => Instance;
  /** A trap. */
  class RuntimeError extends Error {}
}
