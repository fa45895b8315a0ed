import type { Labels } from './labels.js';

/** What a series takes here, and each of its labels, or each character of a long one: of most, keys are made as well. */
const SERIES_BYTES = 400;
const LABEL_BYTES = 64;
const CHARACTER_BYTES = 3;

/** Labels by number of series. */
type Made = Map<number, Labels>;

/**
 * The labels that were made for queries, of all tables, so that the next query need not make them again. When they are too
 * many, all are forgotten.
 */
export class LabelsCache {
  readonly #limitBytes: number;
  #usedBytes = 0;
  /** By what series belong to, then by form. It holds nobody. */
  #made = new WeakMap<object, Map<string, Made>>();

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Gives what was made of a series before in that form, else what `make` gives. */
  cached(owner: object, form: string, make: (sid: number) => Labels): (sid: number) => Labels {
    let all = this.#made;
    let made = this.#of(owner, form);
    return (sid) => {
      if (all !== this.#made) {
        all = this.#made;
        made = this.#of(owner, form);
      }
      let labels = made.get(sid);
      if (labels === undefined) {
        labels = make(sid);
        const bytes = bytesOf(labels);
        if (this.#usedBytes + bytes > this.#limitBytes) this.#clear();
        else made.set(sid, labels);
        this.#usedBytes += bytes;
      }
      return labels;
    };
  }

  #clear(): void {
    this.#made = new WeakMap();
    this.#usedBytes = 0;
  }

  #of(owner: object, form: string): Made {
    const forms = this.#made.get(owner) ?? new Map<string, Made>();
    this.#made.set(owner, forms);
    const made = forms.get(form) ?? new Map<number, Labels>();
    forms.set(form, made);
    return made;
  }
}

function bytesOf({ values }: Labels): number {
  let bytes = SERIES_BYTES;
  for (const { length } of values) bytes += Math.max(LABEL_BYTES, CHARACTER_BYTES * length);
  return bytes;
}
