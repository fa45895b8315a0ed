import { stepTimeMs, type Env, type Value } from '../runtime/env.js';
import { floatSeries, setHistogram, type MutableSeries, type StepSeries } from '../runtime/samples.js';

/**
 * Computes a value in chunks of steps, so that the process can do other work between them. Queries have at most 11,000
 * steps, subqueries may have millions.
 *
 * @param run computes the value at each step from the arguments at that step alone.
 */
export async function inStepChunks<Args extends readonly (Value | undefined)[]>(
  args: Args,
  env: Env,
  run: (args: Args, env: Env) => Value | Promise<Value>,
): Promise<Value> {
  const { limits, steps } = env;
  const most = limits.stepsPerChunk;
  if (steps <= most) return run(args, env);
  const { held } = limits;
  const joined = new JoinedChunks(env);
  for (let from = 0; from < steps; from += most) {
    if (env.scheduler.isDue) await env.scheduler.yield();
    const to = Math.min(steps, from + most);
    const chunk = args.map((arg) => arg && stepsOf(arg, from, to)) as unknown as Args;
    joined.add(await run(chunk, { ...env, startMs: stepTimeMs(env, from), steps: to - from }), from);
    limits.spend(to - from);
    // The chunk itself can be freed.
    limits.reset(held + joined.size);
  }
  return joined.value;
}

/** Returns views of the steps `[from, to)` of a value. */
function stepsOf(value: Value, from: number, to: number): Value {
  if (value.kind === 'string') return value;
  if (value.kind === 'scalar') return { kind: 'scalar', values: value.values.subarray(from, to) };
  const series = value.series.map(({ labels, kinds, values, histograms, isNameDropped }): StepSeries => {
    const steps = floatSeries(labels, kinds.subarray(from, to), values.subarray(from, to), isNameDropped);
    steps.histograms = histograms?.slice(from, to);
    return steps;
  });
  return { kind: 'vector', series };
}

/** Joins consecutive chunks to one value. */
class JoinedChunks {
  readonly #env: Env;
  readonly #series = new Map<string, MutableSeries>();
  /** The same series. A new one is inserted after its predecessor in the chunk. */
  readonly #order: MutableSeries[] = [];
  #scalar: Float64Array | undefined;

  constructor(env: Env) {
    this.#env = env;
  }

  get value(): Value {
    if (this.#scalar !== undefined) return { kind: 'scalar', values: this.#scalar };
    return { kind: 'vector', series: this.#order };
  }

  /** Number of samples that the value has room for. */
  get size(): number {
    return this.#order.length * this.#env.steps + (this.#scalar?.length ?? 0);
  }

  add(value: Value, from: number): void {
    if (value.kind === 'scalar') {
      this.#scalar ??= new Float64Array(this.#env.steps);
      this.#scalar.set(value.values, from);
    } else if (value.kind === 'vector') {
      this.#addSeries(value.series, from);
    }
  }

  #addSeries(all: readonly StepSeries[], from: number): void {
    const keys = new Set<string>();
    let position = 0;
    for (const series of all) {
      // Two series may have equal labels, of which one will lose its name.
      let key = series.isNameDropped ? `${series.labels.key}-` : series.labels.key;
      // Two series with equal labels may have samples at different steps.
      while (keys.has(key)) key += '+';
      keys.add(key);
      const target = this.#target(key, series, position);
      position = (this.#order[position] === target ? position : this.#order.indexOf(target)) + 1;
      copySteps(series, target, from);
    }
  }

  #target(key: string, { labels, isNameDropped }: StepSeries, position: number): MutableSeries {
    let target = this.#series.get(key);
    if (target === undefined) {
      const { steps, limits } = this.#env;
      limits.add(steps);
      target = floatSeries(labels, new Uint8Array(steps), new Float64Array(steps), isNameDropped);
      this.#series.set(key, target);
      this.#order.splice(position, 0, target);
    }
    return target;
  }
}

function copySteps({ kinds, values, histograms }: StepSeries, target: MutableSeries, from: number): void {
  target.values.set(values, from);
  if (histograms !== undefined) {
    for (let step = 0; step < histograms.length; step++) {
      const histogram = histograms[step];
      if (histogram !== undefined) setHistogram(target, from + step, histogram);
    }
  }
  target.kinds.set(kinds, from);
}
