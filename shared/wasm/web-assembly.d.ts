/** The part of WebAssembly's interface that is used: TypeScript declares it for browsers only. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(
      module: Module,
      imports: Readonly<Record<string, Readonly<Record<string, (...numbers: number[]) => number>>>>,
    );
    readonly exports: unknown;
  }
  interface Memory {
    /** Replaced when the memory grows. */
    readonly buffer: ArrayBuffer;
    /** @param pages of 64 KiB */
    grow(pages: number): void;
  }
  interface Global {
    readonly value: number;
  }
  /** A trap. */
  class RuntimeError extends Error {}
}
