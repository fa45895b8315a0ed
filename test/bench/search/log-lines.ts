import { accessLine } from '../protocols/pipeline-loads.js';
import type { Bodies } from '../load-job.js';
import { SeededRandom } from '../tsbs/seeded-random.js';

/** Lines of a request. */
export const BATCH = 4_000;
/** The word that few lines have, and its distance in lines. */
export const RARE = { word: 'kaboom', everyLines: 2_000_003 };
/** A word that a twentieth of the lines has. */
export const FREQUENT = '500';

/** Different texts; each has another ID and time when it is sent again. */
const TEXTS = 32 * BATCH;
const START_MS = 1_700_000_000_000;
const MS_PER_LINE = 10;

/**
 * Requests of access log lines with an ID of their own, as JSON lines.
 *
 * The texts repeat, and their IDs and times are written over in place: the loader shares its cores with the server.
 */
export class LogLines implements Bodies {
  readonly count: number;
  readonly #templates: readonly Template[];
  readonly #random: SeededRandom;

  constructor(lines: number, seed: number) {
    this.count = Math.ceil(lines / BATCH);
    this.#random = new SeededRandom(seed);
    this.#templates = Array.from({ length: TEXTS / BATCH }, () => template(this.#random));
  }

  byteLength(index: number): number {
    return this.#template(index).bytes.length;
  }

  at(index: number): Buffer {
    const { bytes, times, ids, words } = this.#template(index);
    for (let i = 0; i < BATCH; i++) {
      const line = index * BATCH + i;
      bytes.write(String(START_MS + line * MS_PER_LINE), times[i], 'latin1');
      bytes.write(hex(this.#random) + hex(this.#random), ids[i], 'latin1');
      bytes.write(line % RARE.everyLines === RARE.everyLines - 1 ? RARE.word : 'normal', words[i], 'latin1');
    }
    // The socket sends it later than this template is used again.
    return Buffer.from(bytes);
  }

  #template(index: number): Template {
    return this.#templates[index % this.#templates.length];
  }
}

interface Template {
  readonly bytes: Buffer;
  /** Positions of what differs each time. */
  readonly times: readonly number[];
  readonly ids: readonly number[];
  readonly words: readonly number[];
}

const TIME = '0'.repeat(13);
const ID = 'f'.repeat(16);
const WORD = '_'.repeat(RARE.word.length);

function template(random: SeededRandom): Template {
  const lines: string[] = [];
  const [times, ids, words]: number[][] = [[], [], []];
  let at = 0;
  for (let i = 0; i < BATCH; i++) {
    const text = JSON.stringify(`${accessLine(START_MS + i * MS_PER_LINE, random)} ${WORD} id=${ID}`);
    const line = `{"ts":${TIME},"line":${text}}`;
    times.push(at + line.indexOf(TIME));
    ids.push(at + line.indexOf(ID));
    words.push(at + line.indexOf(WORD));
    lines.push(line);
    at += line.length + 1;
  }
  return { bytes: Buffer.from(lines.join('\n')), times, ids, words };
}

function hex(random: SeededRandom): string {
  return random
    .below(2 ** 31)
    .toString(16)
    .padStart(8, '0');
}
