import type { DecodeConflict, Rejected } from '../protocol.js';

/** Enough for an answer; senders log its first 1,024 bytes. What comes after is only counted. */
const TEXT_CHARACTERS_MAX = 8 * 1024;
const SERIES_CHARACTERS_MAX = 256;

/** Series of a request that were not taken, and why. */
export class Rejections implements Rejected {
  lineCount = 0;
  readonly texts: string[] = [];
  readonly conflicts: readonly DecodeConflict[] = [];
  #characters = 0;

  get hasRoom(): boolean {
    return this.#characters < TEXT_CHARACTERS_MAX;
  }

  /** @param series its labels, in some readable form. */
  add(reason: string, series: string): void {
    this.lineCount++;
    if (!this.hasRoom) return;
    const shown = series.length > SERIES_CHARACTERS_MAX ? `${series.slice(0, SERIES_CHARACTERS_MAX)}..` : series;
    const text = `${reason.slice(0, SERIES_CHARACTERS_MAX)}: series ${shown}`;
    this.texts.push(text);
    this.#characters += text.length;
  }
}
