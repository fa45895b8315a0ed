import { METRIC_NAME } from '#shared/schema/metric-table';

/** Labels of a series: names ascending, no empty values. Immutable. */
export class Labels {
  readonly names: readonly string[];
  readonly values: readonly string[];
  #key: string | undefined;
  #unnamed: Labels | undefined;
  #bare: Labels | undefined;
  #json: string | undefined;
  /** The last argument and result of `only`, for queries that are repeated. */
  #onlyNames: ReadonlySet<string> | undefined;
  #only: Labels | undefined;

  /** @param names ascending and distinct. */
  private constructor(names: readonly string[], values: readonly string[]) {
    this.names = names;
    this.values = values;
  }

  /** Creates labels from pairs in any order. Empty values are left out; of duplicate names the last one wins. */
  static of(pairs: Iterable<readonly [name: string, value: string]>): Labels {
    const byName = new Map(pairs);
    const names = [...byName.keys()].filter((name) => byName.get(name) !== '').sort(compareBytes);
    const values: string[] = [];
    for (const name of names) values.push(byName.get(name) ?? '');
    return new Labels(names, values);
  }

  /** Creates labels from ascending, distinct names and their non-empty values. Keeps both arrays, which may be shared. */
  static sorted(names: readonly string[], values: readonly string[]): Labels {
    return new Labels(names, values);
  }

  /** Text that identifies the label set: equal for equal labels only. */
  get key(): string {
    this.#key ??= this.#makeKey();
    return this.#key;
  }

  /** Returns the value of a label, empty if it is absent. */
  get(name: string): string {
    const at = this.names.indexOf(name);
    return at < 0 ? '' : this.values[at];
  }

  /** The labels as a JSON object. */
  get json(): string {
    this.#json ??= this.#makeJson();
    return this.#json;
  }

  /** Returns the labels whose names are in `names`: the same object for the same set as in the previous call. */
  only(names: ReadonlySet<string>): Labels {
    if (this.#only === undefined || this.#onlyNames !== names) {
      this.#only = this.#filtered((name) => names.has(name));
      this.#onlyNames = names;
    }
    return this.#only;
  }

  /** Returns the labels whose names are not in `names`. */
  without(names: ReadonlySet<string>): Labels {
    return this.#filtered((name) => !names.has(name));
  }

  /** Labels without the metric name. Cached. */
  get unnamed(): Labels {
    this.#unnamed ??= this.#filtered((name) => name !== METRIC_NAME);
    return this.#unnamed;
  }

  /** Labels without the metric name, type and unit. Cached, so that the key is computed once. */
  get bare(): Labels {
    this.#bare ??= this.unnamed.without(METRIC_LABELS);
    return this.#bare;
  }

  /** Returns the labels with one label replaced; an empty value removes it. */
  with(name: string, value: string): Labels {
    if (this.get(name) === value) return this;
    return Labels.of([...this.pairs(), [name, value]]);
  }

  *pairs(): Iterable<readonly [string, string]> {
    for (let i = 0; i < this.names.length; i++) yield [this.names[i], this.values[i]];
  }

  #makeKey(): string {
    let key = '';
    for (let i = 0; i < this.names.length; i++) {
      const name = this.names[i];
      const value = this.values[i];
      key += `${name.length}:${name}${value.length}:${value}`;
    }
    return key;
  }

  #makeJson(): string {
    const members: string[] = [];
    for (let i = 0; i < this.names.length; i++) {
      members.push(`${JSON.stringify(this.names[i])}:${JSON.stringify(this.values[i])}`);
    }
    // Texts that are concatenated keep their parts in memory.
    return `{${members.join(',')}}`;
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

/** The empty label set. */
export const NO_LABELS = Labels.of([]);

/** Labels that PromQL drops together with the metric name. */
const METRIC_LABELS: ReadonlySet<string> = new Set([METRIC_NAME, '__type__', '__unit__']);

/** Compares label sets label by label, first by name, then by value; a proper prefix is smaller. */
export function compareLabels(one: Labels, other: Labels): number {
  const length = Math.min(one.names.length, other.names.length);
  for (let i = 0; i < length; i++) {
    const order = compareBytes(one.names[i], other.names[i]) || compareBytes(one.values[i], other.values[i]);
    if (order !== 0) return order;
  }
  return one.names.length - other.names.length;
}

/** Compares texts by their UTF-8 bytes, which is the order of their code points. */
export function compareBytes(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const a = one.charCodeAt(i);
    const b = other.charCodeAt(i);
    if (a === b) continue;
    // Surrogates encode code points above all other code units.
    const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
    if (isHigh(a) !== isHigh(b)) return isHigh(a) ? 1 : -1;
    return a - b;
  }
  return one.length - other.length;
}

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Formats labels for error messages: `{a="b", c="d"}`. */
export function printLabels(labels: Labels): string {
  const texts = labels.names.map((name, i) => {
    return `${PLAIN_NAME.test(name) ? name : JSON.stringify(name)}=${JSON.stringify(labels.values[i])}`;
  });
  return `{${texts.join(', ')}}`;
}
