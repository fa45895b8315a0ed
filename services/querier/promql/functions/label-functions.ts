import { AlmanacError } from '#shared/errors/almanac-error';

import type { Env } from '../runtime/env.js';
import { compareLabels, METRIC_NAME, type Labels, compareBytes } from '../../series/labels.js';
import { compileRegex, MATCH_WORK } from '../../series/matcher.js';
import { mergedSeries } from '../runtime/merge-series.js';
import type { StepSeries } from '../runtime/samples.js';
import { sortedInSlices } from '../runtime/sort.js';
import { stringOf, vectorOf, type ValueCall, type ValueFunction } from './function.js';

const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** `label_replace(v, dst, replacement, src, regex)` */
const labelReplace: ValueFunction = {
  kind: 'value',
  isWhole: true,
  run({ env, args }) {
    const [dst, replacement, src, pattern] = args.slice(1).map(stringOf);
    let regex: ReturnType<typeof compileRegex>;
    try {
      regex = compileRegex(pattern);
    } catch {
      throw new AlmanacError('execute_query', `invalid regular expression in label_replace(): ${pattern}`);
    }
    checkName(dst, 'destination', 'label_replace');
    return relabelled(vectorOf(args[0]), dst, env, (labels) => {
      env.limits.spend(MATCH_WORK);
      const groups = regex.groups(labels.get(src));
      return groups === undefined ? undefined : expanded(replacement, groups);
    });
  },
};

/** `label_join(v, dst, separator, src..)` */
const labelJoin: ValueFunction = {
  kind: 'value',
  isWhole: true,
  run({ env, args }) {
    const [dst, separator, ...sources] = args.slice(1).map(stringOf);
    for (const source of sources) checkName(source, 'source', 'label_join');
    checkName(dst, 'destination', 'label_join');
    return relabelled(vectorOf(args[0]), dst, env, (labels) => {
      return sources.reduce((text, name, i) => checkSize(text + (i === 0 ? '' : separator) + labels.get(name)), '');
    });
  },
};

function checkName(name: string, role: string, func: string): void {
  if (name !== '' && !LONE_SURROGATE.test(name)) return;
  throw new AlmanacError('execute_query', `invalid ${role} label name in ${func}(): ${name}`);
}

/** The vector with another value of one label; a name that is written so stays. */
async function relabelled(
  vector: readonly StepSeries[],
  name: string,
  env: Env,
  valueOf: (labels: Labels) => string | undefined,
): Promise<{ readonly kind: 'vector'; readonly series: readonly StepSeries[] }> {
  const { limits } = env;
  const results: StepSeries[] = [];
  for (const one of vector) {
    limits.spend(RELABELLING);
    if (limits.isDue) await limits.yield();
    const value = valueOf(one.labels);
    if (value !== undefined) limits.add(Math.ceil(value.length / CHARS_PER_SAMPLE));
    const isNameDropped = name === METRIC_NAME ? false : one.isNameDropped;
    results.push(value === undefined ? one : { ...one, labels: one.labels.with(name, value), isNameDropped });
  }
  return { kind: 'vector', series: await mergedSeries(results, limits) };
}

/** Work of a series with another label, in numbers that are looked at. */
const RELABELLING = 256;

/** Longest label value that a query makes, and how much of it weighs as much as a sample. */
const VALUE_CHARS_MAX = 1 << 16;
const CHARS_PER_SAMPLE = 8;

function checkSize(value: string): string {
  if (value.length <= VALUE_CHARS_MAX) return value;
  throw new AlmanacError('execute_query', `a label value of the query is longer than ${VALUE_CHARS_MAX} characters`);
}

const NAME_START = /[A-Za-z0-9_]/;

/** Go's template: `$1`, `$name` (the longest that it can be), `${name}`, `$$`. */
function expanded(template: string, group: (name: string) => string): string {
  let text = '';
  for (let at = 0; at < template.length;) {
    const next = template.indexOf('$', at);
    if (next < 0) return checkSize(text + template.slice(at));
    text = checkSize(text + template.slice(at, next));
    const rest = template.slice(next + 1);
    const braced = /^\{(\w+)\}/.exec(rest);
    const plain = NAME_START.test(rest) ? /^\w+/.exec(rest) : null;
    if (rest.startsWith('$')) {
      text += '$';
      at = next + 2;
    } else if (braced !== null) {
      text += group(braced[1]);
      at = next + 1 + braced[0].length;
    } else if (plain !== null) {
      text += group(plain[0]);
      at = next + 1 + plain[0].length;
    } else {
      text += '$';
      at = next + 1;
    }
  }
  return checkSize(text);
}

const INEFFECTIVE = 'sort is ineffective for range queries since results are always ordered by labels';

function sorted(
  compare: (one: StepSeries, other: StepSeries, call: ValueCall) => number,
  keepsHistograms: boolean,
): ValueFunction {
  return {
    kind: 'value',
    isWhole: true,
    async run(call) {
      const { env, args, expr } = call;
      let series = [...vectorOf(args[0])];
      if (!keepsHistograms) series = series.flatMap(withoutHistograms);
      if (!env.isInstant) env.annotations.warn(INEFFECTIVE, expr);
      else series = await sortedInSlices(series, (one, other) => compare(one, other, call), env.limits);
      return { kind: 'vector', series };
    },
  };
}

function withoutHistograms(series: StepSeries): StepSeries[] {
  if (series.histograms === undefined) return [series];
  const kinds = series.kinds.map((kind) => (kind === 1 ? 1 : 0));
  const { labels, values, isNameDropped } = series;
  return kinds.includes(1) ? [{ labels, kinds, values, isNameDropped }] : [];
}

function byValue(sign: 1 | -1): (one: StepSeries, other: StepSeries) => number {
  return ({ values: [a] }, { values: [b] }) => {
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
    if (Number.isNaN(b) || a === b) return a === b ? 0 : -1;
    return a < b ? -sign : sign;
  };
}

function byLabels(one: StepSeries, other: StepSeries, { args }: ValueCall): number {
  for (const name of args.slice(1).map(stringOf)) {
    const order = natural(one.labels.get(name), other.labels.get(name));
    if (order !== 0) return order;
  }
  return compareLabels(one.labels, other.labels);
}

export const LABEL_FUNCTIONS: Readonly<Record<string, ValueFunction>> = {
  label_replace: labelReplace,
  label_join: labelJoin,
  sort: sorted(byValue(1), false),
  sort_desc: sorted(byValue(-1), false),
  sort_by_label: sorted(byLabels, true),
  sort_by_label_desc: sorted((one, other, call) => -byLabels(one, other, call), true),
};

const RUNS = /\d+|\D+/g;

/** Orders texts as people do: runs of digits by their number, so that `cpu2` comes before `cpu10`. */
export function natural(one: string, other: string): number {
  const ones = one.match(RUNS) ?? [];
  const others = other.match(RUNS) ?? [];
  const length = Math.min(ones.length, others.length);
  for (let i = 0; i < length; i++) {
    if (ones[i] === others[i]) continue;
    const areNumbers = /^\d/.test(ones[i]) && /^\d/.test(others[i]);
    const difference = areNumbers
      ? compareNumbers(BigInt(ones[i]), BigInt(others[i]))
      : compareBytes(ones[i], others[i]);
    if (difference !== 0) return difference;
  }
  return ones.length - others.length || compareBytes(one, other);
}

function compareNumbers(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
