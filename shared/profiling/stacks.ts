/** A function as a profile names it. */
export interface Frame {
  readonly name: string;
  /** Source file; empty if unknown. */
  readonly file: string;
  /** Line of the function, from 1; 0 if unknown. */
  readonly line: number;
}

/** What the values of a profile are. */
export type ProfileKind = 'cpu' | 'inuse_space' | 'samples';

/** Units of the values, by kind. */
export const PROFILE_UNITS: Readonly<Record<ProfileKind, string>> = {
  cpu: 'nanoseconds',
  inuse_space: 'bytes',
  samples: 'count',
};

/** Units in which values are shown to people, and how many of the values' units they are. */
export const SHOWN_UNITS: Readonly<Record<ProfileKind, { readonly unit: string; readonly factor: number }>> = {
  cpu: { unit: 'ms', factor: 1e6 },
  inuse_space: { unit: 'KiB', factor: 1024 },
  samples: { unit: 'samples', factor: 1 },
};

/** A profile: how much time or memory each stack of calls took. */
export interface Profile {
  readonly kind: ProfileKind;
  /** Wall clock of its start, milliseconds since 1970; 0 if unknown. */
  readonly startedMs: number;
  /** 0 if unknown. */
  readonly durationMs: number;
  /** Distance of samples, in units of the values; 0 if unknown. */
  readonly period: number;
  readonly frames: readonly Frame[];
  readonly samples: readonly StackSample[];
}

/** One stack of calls. */
export interface StackSample {
  /** Positions in `frames`, the outermost call first. */
  readonly stack: readonly number[];
  /** Number of samples or objects. */
  readonly count: number;
  /** In the unit of the profile's kind. */
  readonly value: number;
}

/** Collects stacks; equal frames are stored once. */
export class ProfileBuilder {
  readonly #frames: Frame[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #samples: StackSample[] = [];

  /** Returns the number of a frame. */
  frame(frame: Frame): number {
    const key = `${frame.line} ${frame.file}\n${frame.name}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#frames.push(frame) - 1;
      this.#numbers.set(key, number);
    }
    return number;
  }

  add(sample: StackSample): void {
    if (sample.value > 0) this.#samples.push(sample);
  }

  finish(facts: Pick<Profile, 'kind' | 'startedMs' | 'durationMs' | 'period'>): Profile {
    return { ...facts, frames: this.#frames, samples: this.#samples };
  }
}
