/** Longer texts are rare, and not kept. */
const TEXT_BYTES_MAX = 64;
const POSITIONS_MAX = 64;

/** Texts at the same positions of successive lists, which are mostly equal: these are compared instead of decoded. */
export class LastTexts {
  readonly #bytes: Uint8Array[] = [];
  readonly #texts: string[] = [];

  /** Returns the text of the UTF-8 bytes `[from, to)`. @param position in its list; positions are asked for in order. */
  at(position: number, bytes: Buffer, from: number, to: number): string {
    if (position < this.#bytes.length && isAt(this.#bytes[position], bytes, from, to)) return this.#texts[position];
    const text = bytes.toString('utf8', from, to);
    if (to - from <= TEXT_BYTES_MAX && position <= Math.min(this.#bytes.length, POSITIONS_MAX - 1)) {
      this.#bytes[position] = Uint8Array.from(bytes.subarray(from, to));
      this.#texts[position] = text;
    }
    return text;
  }
}

function isAt(known: Uint8Array, bytes: Buffer, from: number, to: number): boolean {
  if (known.length !== to - from) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[from + i]) return false;
  return true;
}
