import type { SeriesIndex } from './series-index.js';

/** The values of one tag by series. */
export interface TagOfSeries {
  /** Each value that occurs, once. */
  readonly values: readonly string[];
  /** Returns the number of a series' value, its position in `values`; -1: the series does not have the tag. */
  ofSeries(sid: number): number;
}

/** The values of one tag of all series, by number. */
export class TagColumn implements TagOfSeries {
  readonly #index: SeriesIndex;
  readonly #tagId: number;

  constructor(index: SeriesIndex, tagId: number) {
    this.#index = index;
    this.#tagId = tagId;
  }

  /** Values of new series are added. */
  get values(): readonly string[] {
    return this.#index.labelOfTag(this.#tagId)?.values ?? [];
  }

  /** Returns the number of a value, its position in `values`; undefined if no series has it. */
  numberOf(value: string): number | undefined {
    return this.#index.labelOfTag(this.#tagId)?.numberOf(value);
  }

  ofSeries(sid: number): number {
    const label = this.#index.labelOfTag(this.#tagId);
    return label === undefined ? -1 : this.#index.valueOf(sid, label.position);
  }
}
