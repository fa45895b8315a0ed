import { METRIC_NAME } from '#shared/schema/metric-table';

/** The labels of a series: names ascending, no empty values; never changed. */
export class Labels {
  readonly names: readonly string[];
  readonly values: readonly string[];
  #key: string | undefined;
  #unnamed: Labels | undefined;
  #bare: Labels | undefined;

  /** @param names ascending, each once. */
  private constructor(names: readonly string[], values: readonly string[]) {
    this.names = names;
    this.values = values;
  }

  /** From pairs in any order; empty values are left out, of equal names the last counts. */
  static of(pairs: Iterable<readonly [name: string, value: string]>): Labels {
    const byName = new Map(pairs);
    const names = [...byName.keys()].filter((name) => byName.get(name) !== '').sort(compareBytes);
    return new Labels(
      names,
      names.map((name) => byName.get(name) ?? ''),
    );
  }

  /** From names that ascend, each once, and their values, none of which is empty. Both are kept, and may be shared. */
  static sorted(names: readonly string[], values: readonly string[]): Labels {
    return new Labels(names, values);
  }

  /** Text that only equal labels have. */
  get key(): string {
    this.#key ??= this.names
      .map((name, i) => `${name.length}:${name}${this.values[i].length}:${this.values[i]}`)
      .join('');
    return this.#key;
  }

  /** The value of a label, empty if it is absent. */
  get(name: string): string {
    const at = this.names.indexOf(name);
    return at < 0 ? '' : this.values[at];
  }

  /** Only these labels. */
  only(names: ReadonlySet<string>): Labels {
    return this.#filtered((name) => names.has(name));
  }

  /** All but these labels. */
  without(names: ReadonlySet<string>): Labels {
    return this.#filtered((name) => !names.has(name));
  }

  /** All but the metric name; the same each time. */
  get unnamed(): Labels {
    this.#unnamed ??= this.#filtered((name) => name !== METRIC_NAME);
    return this.#unnamed;
  }

  /** All but the metric name and what goes with it; the same each time, so that its key is made once. */
  get bare(): Labels {
    this.#bare ??= this.unnamed.without(METRIC_LABELS);
    return this.#bare;
  }

  /** With another value of one label; an empty one takes it away. */
  with(name: string, value: string): Labels {
    if (this.get(name) === value) return this;
    return Labels.of([...this.pairs(), [name, value]]);
  }

  *pairs(): Iterable<readonly [string, string]> {
    for (let i = 0; i < this.names.length; i++) yield [this.names[i], this.values[i]];
  }

  #filtered(isKept: (name: string) => boolean): Labels {
    const names: string[] = [];
    const values: string[] = [];
    for (let i = 0; i < this.names.length; i++) {
      if (!isKept(this.names[i])) continue;
      names.push(this.names[i]);
      values.push(this.values[i]);
    }
    return names.length === this.names.length ? this : new Labels(names, values);
  }
}

export const NO_LABELS = Labels.of([]);

/** What goes with the name of a metric wherever the name is dropped. */
const METRIC_LABELS: ReadonlySet<string> = new Set([METRIC_NAME, '__type__', '__unit__']);

/** Orders label sets label by label, first by name, then by value; a proper prefix is smaller. */
export function compareLabels(one: Labels, other: Labels): number {
  const length = Math.min(one.names.length, other.names.length);
  for (let i = 0; i < length; i++) {
    const order = compareBytes(one.names[i], other.names[i]) || compareBytes(one.values[i], other.values[i]);
    if (order !== 0) return order;
  }
  return one.names.length - other.names.length;
}

/** Orders texts by their UTF-8 bytes, which is by code points. */
export function compareBytes(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const a = one.charCodeAt(i);
    const b = other.charCodeAt(i);
    if (a === b) continue;
    // Surrogates stand for code points beyond all other units.
    const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
    if (isHigh(a) !== isHigh(b)) return isHigh(a) ? 1 : -1;
    return a - b;
  }
  return one.length - other.length;
}

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The labels as errors show them: `{a="b", c="d"}`. */
export function printLabels(labels: Labels): string {
  const texts = labels.names.map((name, i) => {
    return `${PLAIN_NAME.test(name) ? name : JSON.stringify(name)}=${JSON.stringify(labels.values[i])}`;
  });
  return `{${texts.join(', ')}}`;
}
