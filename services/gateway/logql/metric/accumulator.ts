/** Collects the values of a window. */
export interface Accumulator<Self = unknown> {
  add(value: number, timeNs: number): void;
  /** Adds the values of an earlier or later part of the window. */
  merge(other: Self): void;
  result(): number;
  /** Numbers that it holds. */
  readonly size: number;
}

class Sum implements Accumulator<Sum> {
  readonly size = 1;
  readonly #divisor: number;
  sum = 0;

  constructor(divisor: number) {
    this.#divisor = divisor;
  }

  add(value: number): void {
    this.sum += value;
  }

  merge(other: Sum): void {
    this.sum += other.sum;
  }

  result(): number {
    return this.sum / this.#divisor;
  }
}

class Extreme implements Accumulator<Extreme> {
  readonly size = 1;
  readonly #sign: number;
  value = NaN;

  constructor(sign: number) {
    this.#sign = sign;
  }

  add(value: number): void {
    if (Number.isNaN(this.value) || (value - this.value) * this.#sign > 0) this.value = value;
  }

  merge(other: Extreme): void {
    this.add(other.value);
  }

  result(): number {
    return this.value;
  }
}

/** Mean and variance by the update of Welford and the merge of Chan. */
class Moments implements Accumulator<Moments> {
  readonly size = 3;
  readonly #of: 'mean' | 'stddev' | 'stdvar';
  count = 0;
  mean = 0;
  squares = 0;

  constructor(of: Moments['kind']) {
    this.#of = of;
  }

  get kind(): 'mean' | 'stddev' | 'stdvar' {
    return this.#of;
  }

  add(value: number): void {
    this.count++;
    const delta = value - this.mean;
    this.mean += delta / this.count;
    this.squares += delta * (value - this.mean);
  }

  merge({ count, mean, squares }: Moments): void {
    const total = this.count + count;
    const delta = mean - this.mean;
    this.squares += squares + (delta * delta * this.count * count) / total;
    this.mean += (delta * count) / total;
    this.count = total;
  }

  result(): number {
    if (this.#of === 'mean') return this.mean;
    const variance = this.squares / this.count;
    return this.#of === 'stddev' ? Math.sqrt(variance) : variance;
  }
}

class Edge implements Accumulator<Edge> {
  readonly size = 2;
  readonly #isFirst: boolean;
  timeNs = NaN;
  value = NaN;

  constructor(isFirst: boolean) {
    this.#isFirst = isFirst;
  }

  add(value: number, timeNs: number): void {
    const isEarlier = timeNs < this.timeNs;
    // Of lines with equal times the first read is the first, and the last read the last.
    if (!Number.isNaN(this.timeNs) && isEarlier !== this.#isFirst) return;
    this.timeNs = timeNs;
    this.value = value;
  }

  merge({ value, timeNs }: Edge): void {
    this.add(value, timeNs);
  }

  result(): number {
    return this.value;
  }
}

class Quantile implements Accumulator<Quantile> {
  readonly #quantile: number;
  values: number[] = [];

  constructor(quantile: number) {
    this.#quantile = quantile;
  }

  get size(): number {
    return this.values.length;
  }

  add(value: number): void {
    this.values.push(value);
  }

  merge({ values }: Quantile): void {
    for (const value of values) this.values.push(value);
  }

  result(): number {
    if (this.#quantile < 0) return -Infinity;
    if (this.#quantile > 1) return Infinity;
    const sorted = Float64Array.from(this.values).sort();
    const rank = this.#quantile * (sorted.length - 1);
    const low = Math.floor(rank);
    const high = Math.min(sorted.length - 1, low + 1);
    const weight = rank - low;
    return sorted[low] * (1 - weight) + sorted[high] * weight;
  }
}

/** Increase per second of a counter, which restarts at 0. */
class CounterRate implements Accumulator<CounterRate> {
  readonly #rangeSeconds: number;
  readonly samples: [timeNs: number, value: number][] = [];

  constructor(rangeSeconds: number) {
    this.#rangeSeconds = rangeSeconds;
  }

  get size(): number {
    return 2 * this.samples.length;
  }

  add(value: number, timeNs: number): void {
    this.samples.push([timeNs, value]);
  }

  merge({ samples }: CounterRate): void {
    for (const sample of samples) this.samples.push(sample);
  }

  result(): number {
    const sorted = this.samples.sort(([a], [b]) => a - b);
    let increase = 0;
    for (let i = 1; i < sorted.length; i++) {
      const delta = sorted[i][1] - sorted[i - 1][1];
      increase += delta >= 0 ? delta : sorted[i][1];
    }
    return increase / this.#rangeSeconds;
  }
}

/** Returns what makes the accumulators of a range aggregation. */
export function accumulatorsOf(fn: string, rangeSeconds: number, parameter: number | undefined): () => Accumulator {
  const kinds: Readonly<Record<string, () => Accumulator<never>>> = {
    rate: () => new Sum(rangeSeconds),
    bytes_rate: () => new Sum(rangeSeconds),
    rate_counter: () => new CounterRate(rangeSeconds),
    avg_over_time: () => new Moments('mean'),
    stddev_over_time: () => new Moments('stddev'),
    stdvar_over_time: () => new Moments('stdvar'),
    min_over_time: () => new Extreme(-1),
    max_over_time: () => new Extreme(1),
    first_over_time: () => new Edge(true),
    last_over_time: () => new Edge(false),
    quantile_over_time: () => new Quantile(parameter ?? 0),
  };
  return kinds[fn] ?? (() => new Sum(1));
}
