/**
 * Chance that repeats: xoshiro128** with its state filled by splitmix32, and normal deviates by Box and Muller.
 *
 * @see https://prng.di.unimi.it/ for the generator.
 */
export class SeededRandom {
  readonly #state = new Uint32Array(4);
  #spareNormal = Number.NaN;

  constructor(seed: number) {
    let mixed = seed >>> 0;
    for (let i = 0; i < 4; i++) {
      mixed = (mixed + 0x9e3779b9) >>> 0;
      let word = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
      this.#state[i] = word ^ (word >>> 15);
    }
  }

  /** Uniform in [0, 2^32). */
  nextU32(): number {
    const state = this.#state;
    const second = state[1];
    const scaled = Math.imul(second, 5);
    const result = Math.imul((scaled << 7) | (scaled >>> 25), 9) >>> 0;
    state[2] ^= state[0];
    state[3] ^= second;
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= second << 9;
    state[3] = (state[3] << 11) | (state[3] >>> 21);
    return result;
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    return this.nextU32() / 0x1_0000_0000;
  }

  /** Uniform integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.fraction() * below);
  }

  /** One of `choices`. */
  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)];
  }

  /** `count` different integers in [0, below), ascending. */
  distinct(count: number, below: number): number[] {
    const chosen = new Set<number>();
    while (chosen.size < Math.min(count, below)) chosen.add(this.below(below));
    return [...chosen].sort((a, b) => a - b);
  }

  /** Normal with mean 0 and deviation 1. */
  normal(): number {
    const spare = this.#spareNormal;
    if (!Number.isNaN(spare)) {
      this.#spareNormal = Number.NaN;
      return spare;
    }
    // 1 - fraction() is in (0, 1], so the logarithm is finite.
    const radius = Math.sqrt(-2 * Math.log(1 - this.fraction()));
    const angle = 2 * Math.PI * this.fraction();
    this.#spareNormal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}
