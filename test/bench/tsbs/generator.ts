import { invariant } from '#shared/errors/invariant';
import { SeededRandom } from './seeded-random.js';
import { drawHostTags, TAG_NAMES, type HostTags } from './tags.js';

/** The fields of TSBS *cpu-only*, in the order of its lines. */
export const FIELD_NAMES = [
  'usage_user',
  'usage_system',
  'usage_idle',
  'usage_nice',
  'usage_iowait',
  'usage_irq',
  'usage_softirq',
  'usage_steal',
  'usage_guest',
  'usage_guest_nice',
] as const;

export const FIELD_COUNT = FIELD_NAMES.length;
/** 2016-01-01T00:00:00Z, the start of every TSBS data set. */
export const START_SECONDS = 1_451_606_400;
export const STEP_SECONDS = 10;
/** A longer line than any that is written: tags of at most 215 bytes, fields of at most 200, a time of 21. */
const LINE_BYTES_MAX = 512;

export interface TsbsShape {
  readonly hosts: number;
  /** Points per host, 10 s apart. */
  readonly steps: number;
  readonly seed: number;
}

/**
 * All points of a data set in memory, one byte a value.
 *
 * A row is `step * hosts + host`, which is also the order of the lines. `values[row * FIELD_COUNT + field]`
 * is a whole number from 0 to 100.
 */
export interface TsbsData {
  readonly shape: TsbsShape;
  readonly hostTags: readonly HostTags[];
  readonly values: Uint8Array;
}

/**
 * Makes the points: each field of each host starts anywhere in [0, 100] and then walks by normal steps of
 * deviation 1, held inside [0, 100]; what is stored is the whole part.
 */
export function generate(shape: TsbsShape): TsbsData {
  const random = new SeededRandom(shape.seed);
  const hostTags = Array.from({ length: shape.hosts }, (_, host) => drawHostTags(host, random));

  const perStep = shape.hosts * FIELD_COUNT;
  const walk = Float64Array.from({ length: perStep }, () => random.fraction() * 100);
  const values = new Uint8Array(perStep * shape.steps);
  for (let i = 0; i < perStep; i++) values[i] = walk[i];
  for (let at = perStep; at < values.length; at += perStep) {
    for (let i = 0; i < perStep; i++) {
      walk[i] = Math.min(100, Math.max(0, walk[i] + random.normal()));
      values[at + i] = walk[i];
    }
  }
  return { shape, hostTags, values };
}

export function rowCount(shape: TsbsShape): number {
  return shape.hosts * shape.steps;
}

/** Turns rows into line protocol. Holds the parts of lines that repeat: one head a host, one label a field. */
export class LineEncoder {
  readonly #data: TsbsData;
  readonly #heads: readonly Uint8Array[];
  readonly #labels: readonly Uint8Array[];

  constructor(data: TsbsData) {
    this.#data = data;
    this.#heads = data.hostTags.map((tags) => {
      const pairs = tags.map((value, i) => `${TAG_NAMES[i]}=${value}`).join(',');
      return Buffer.from(`cpu,${pairs} ${FIELD_NAMES[0]}=`);
    });
    this.#labels = FIELD_NAMES.slice(1).map((name) => Buffer.from(`i,${name}=`));
  }

  /** Bytes that are enough for `rows` lines. */
  bytesMax(rows: number): number {
    return rows * LINE_BYTES_MAX;
  }

  /**
   * Writes the lines of rows `[from, to)` to the start of `out`, each closed by a line feed.
   *
   * @param out at least `bytesMax(to - from)` long.
   * @param ends receives the end of each line, relative to `out`.
   * @returns bytes written.
   */
  encode(from: number, to: number, out: Uint8Array, ends: Float64Array): number {
    invariant(out.length >= this.bytesMax(to - from), 'buffer is too short for the lines');
    const { hosts } = this.#data.shape;
    let at = 0;
    let step = -1;
    let tail: Uint8Array = new Uint8Array(0);
    for (let row = from; row < to; row++) {
      const rowStep = Math.floor(row / hosts);
      if (rowStep !== step) {
        step = rowStep;
        tail = Buffer.from(`i ${START_SECONDS + step * STEP_SECONDS}000000000\n`);
      }
      const head = this.#heads[row - step * hosts];
      out.set(head, at);
      at = this.#encodeValues(row, out, at + head.length);
      out.set(tail, at);
      at += tail.length;
      ends[row - from] = at;
    }
    return at;
  }

  #encodeValues(row: number, out: Uint8Array, start: number): number {
    const { values } = this.#data;
    const first = row * FIELD_COUNT;
    let at = writeSmall(values[first], out, start);
    for (let field = 1; field < FIELD_COUNT; field++) {
      const label = this.#labels[field - 1];
      for (let i = 0; i < label.length; i++) out[at + i] = label[i];
      at = writeSmall(values[first + field], out, at + label.length);
    }
    return at;
  }
}

/** Writes a whole number from 0 to 100 in decimal; returns where it ends. */
function writeSmall(value: number, out: Uint8Array, start: number): number {
  let at = start;
  if (value >= 100) out[at++] = 48 + Math.floor(value / 100);
  if (value >= 10) out[at++] = 48 + (Math.floor(value / 10) % 10);
  out[at++] = 48 + (value % 10);
  return at;
}
