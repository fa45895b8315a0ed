import { DECODE_DELTAS } from '#shared/wasm/gen/decode-deltas';
import { WasmModule } from '#shared/wasm/wasm-module';

import { UnknownLayout } from '#shared/parquet/compact-protocol';

interface Exports {
  readonly decodePage: (size: number, from: number, to: number, count: number, base: bigint) => void;
}

/** Bytes after the results that are written, and after the page that are read, at most. */
const PADDING_BYTES = 64;

let loaded: WasmModule<Exports> | undefined;

/**
 * Decodes integers in the encoding DELTA_BINARY_PACKED (see shared/wasm/assembly/decode-deltas.ts): 4,200 million bytes, 2,600
 * million words or 870 million doubles a second, where JavaScript decodes 800, 850 and 320.
 *
 * @param bytes `[from, to)` has the encoded page.
 * @param base is subtracted from each value.
 * @param out receives `count` values from `at`: as doubles, which must be safe integers, or their low 8 or 32 bits.
 * @throws `UnknownLayout` if the bytes are something else, or a page of another number of values.
 */
export function decodeDeltas(
  bytes: Uint8Array,
  { from, to }: { readonly from: number; readonly to: number },
  base: bigint,
  {
    out,
    at,
    count,
  }: { readonly out: Uint8Array | Int32Array | Float64Array; readonly at: number; readonly count: number },
): void {
  const module = (loaded ??= new WasmModule<Exports>(DECODE_DELTAS, 'decode-deltas'));
  const size = out.BYTES_PER_ELEMENT;
  const outAt = module.freeFrom;
  const pageAt = outAt + count * size + PADDING_BYTES;
  const pageEnd = pageAt + to - from;
  try {
    module.reserve(pageEnd + PADDING_BYTES);
    module.bytes.set(bytes.subarray(from, to), pageAt);
    module.exports.decodePage(size, pageAt, pageEnd, count, base);
    const first = outAt / size;
    if (out instanceof Uint8Array) out.set(module.bytes.subarray(first, first + count), at);
    else if (out instanceof Int32Array) out.set(module.words.subarray(first, first + count), at);
    else out.set(module.doubles.subarray(first, first + count), at);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw new UnknownLayout('page of integers that cannot be decoded');
    throw error;
  } finally {
    if (module.isLarge) loaded = undefined;
  }
}
