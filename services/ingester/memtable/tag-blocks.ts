const BLOCK_BITS = 10;
const BLOCK_SERIES = 1 << BLOCK_BITS;
const BLOCK_MASK = BLOCK_SERIES - 1;
const FIRST_BYTES = 256;
const FIRST_ENDS = 16;

/** Tags of series whose numbers differ only in the last bits. Added tags never change. */
class Block {
  ends = new Uint32Array(FIRST_ENDS);
  bytes = new Uint8Array(FIRST_BYTES);
  used = 0;

  add(place: number, tags: Uint8Array): void {
    const end = this.used + tags.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.bytes.length * 2));
      grown.set(this.bytes.subarray(0, this.used));
      this.bytes = grown;
    }
    if (place >= this.ends.length) {
      const grown = new Uint32Array(Math.min(BLOCK_SERIES, 2 * Math.max(place, this.ends.length)));
      grown.set(this.ends);
      this.ends = grown;
    }
    this.bytes.set(tags, this.used);
    this.ends[place] = this.used = end;
  }

  at(place: number): Uint8Array {
    return this.bytes.subarray(place === 0 ? 0 : this.ends[place - 1], this.ends[place]);
  }
}

/** Encoded tags of consecutive series, which stay valid whatever is discarded meanwhile. */
export interface TagRun {
  readonly length: number;
  /** @param i index from 0. */
  at(i: number): Uint8Array;
}

/**
 * Encoded tags by series number, concatenated in blocks: an array for each would take twice the memory. Added in the
 * order of numbers; the oldest are discarded first.
 */
export class TagBlocks {
  #blocks: Block[] = [];
  /** Number of the first block: a series number without its last bits. */
  #firstBlock = 0;
  /** One past the last series. */
  #end = 0;

  get bytes(): number {
    let bytes = 0;
    for (const block of this.#blocks) bytes += block.bytes.length + block.ends.byteLength;
    return bytes;
  }

  /** Copies the tags of the series after the last one, or of any series while there is none. */
  add(sid: number, tags: Uint8Array): void {
    const number = sid >>> BLOCK_BITS;
    if (this.#blocks.length === 0) this.#firstBlock = number;
    if (number - this.#firstBlock === this.#blocks.length) this.#blocks.push(new Block());
    this.#blocks[number - this.#firstBlock].add(sid & BLOCK_MASK, tags);
    this.#end = sid + 1;
  }

  at(sid: number): Uint8Array {
    return this.#blocks[(sid >>> BLOCK_BITS) - this.#firstBlock].at(sid & BLOCK_MASK);
  }

  /** Returns the tags of the series `[from, to)`. */
  run(from: number, to: number): TagRun {
    if (to <= from) return NO_TAGS;
    const first = from >>> BLOCK_BITS;
    const blocks = this.#blocks.slice(first - this.#firstBlock, ((to - 1) >>> BLOCK_BITS) + 1 - this.#firstBlock);
    return {
      length: to - from,
      at: (i) => blocks[((from + i) >>> BLOCK_BITS) - first].at((from + i) & BLOCK_MASK),
    };
  }

  /** Discards series below a number, as far as whole blocks are affected. */
  discardBelow(sid: number): void {
    const whole = sid >= this.#end ? this.#blocks.length : (sid >>> BLOCK_BITS) - this.#firstBlock;
    const count = Math.min(whole, this.#blocks.length);
    if (count <= 0) return;
    this.#blocks = this.#blocks.slice(count);
    this.#firstBlock += count;
  }
}

const NO_TAGS: TagRun = {
  length: 0,
  at: () => new Uint8Array(0),
};
