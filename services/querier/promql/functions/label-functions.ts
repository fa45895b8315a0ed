import { AlmanacError } from '#shared/errors/almanac-error';

import { type Labels } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { compileRegex, MATCH_WORK } from '../../series/matcher.js';
import { isValidUtf8, toValidUtf8 } from '../common/go-string.js';
import type { Env, Value } from '../runtime/env.js';
import { mergedSeries } from '../runtime/merge-series.js';
import type { StepSeries } from '../runtime/samples.js';
import { stringOf, vectorOf, type FunctionDefinition, type ValueFunction } from './function.js';

const labelReplace: ValueFunction = {
  kind: 'value',
  isWhole: true,
  run({ env, args }) {
    const [destination, replacement, source, pattern] = args.slice(1).map(stringOf);
    let regex: ReturnType<typeof compileRegex>;
    try {
      regex = compileRegex(pattern);
    } catch {
      throw new AlmanacError('execute_query', `invalid regular expression in label_replace(): ${pattern}`);
    }
    checkName(destination, 'destination', 'label_replace');
    return withLabel(vectorOf(args[0]), destination, env, (labels) => {
      env.limits.spend(MATCH_WORK);
      const groups = regex.groups(labels.get(source));
      return groups === undefined ? undefined : expandTemplate(replacement, groups);
    });
  },
};

const labelJoin: ValueFunction = {
  kind: 'value',
  isWhole: true,
  run({ env, args }) {
    const [destination, separator, ...sources] = args.slice(1).map(stringOf);
    for (const source of sources) checkName(source, 'source', 'label_join');
    checkName(destination, 'destination', 'label_join');
    return withLabel(vectorOf(args[0]), destination, env, (labels) => {
      return sources.reduce((text, name, i) => checkSize(text + (i === 0 ? '' : separator) + labels.get(name)), '');
    });
  },
};

function checkName(name: string, role: string, func: string): void {
  if (name !== '' && isValidUtf8(name)) return;
  throw new AlmanacError('execute_query', toValidUtf8(`invalid ${role} label name in ${func}(): ${name}`));
}

/** Returns the vector with a new value of one label, where there is one. Writing `__name__` keeps the name. */
async function withLabel(
  vector: readonly StepSeries[],
  name: string,
  env: Env,
  valueOf: (labels: Labels) => string | undefined,
): Promise<Value> {
  const { limits } = env;
  const results: StepSeries[] = [];
  await limits.scheduler.each(vector, RELABEL_WORK, (one) => {
    const value = valueOf(one.labels);
    if (value !== undefined) limits.add(Math.ceil(value.length / CHARS_PER_SAMPLE));
    const isNameDropped = name === METRIC_NAME ? false : one.isNameDropped;
    results.push(
      value === undefined ? one : { ...one, labels: one.labels.with(name, toValidUtf8(value)), isNameDropped },
    );
  });
  return { kind: 'vector', series: await mergedSeries(results, limits) };
}

/** Cost of changing a label of a series, in units of reading one float. */
const RELABEL_WORK = 256;

/** Longest label value that a query may build. */
const VALUE_CHARS_MAX = 1 << 16;
/** Characters of a label value that count as one sample. */
const CHARS_PER_SAMPLE = 8;

function checkSize(value: string): string {
  if (value.length <= VALUE_CHARS_MAX) return value;
  throw new AlmanacError('execute_query', `a label value of the query is longer than ${VALUE_CHARS_MAX} characters`);
}

const NAME_START = /[A-Za-z0-9_]/;

/** Expands a template of Go's `regexp` package: `$1`, `$name` (the longest possible name), `${name}`, `$$`. */
function expandTemplate(template: string, group: (name: string) => string): string {
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

/** Functions that change labels. */
export const LABEL_FUNCTIONS: readonly FunctionDefinition[] = [
  {
    name: 'label_replace',
    args: { v: 'vector', dst_label: 'string', replacement: 'string', src_label: 'string', regex: 'string' },
    keepsValues: true,
    keepsName: true,
    doc:
      'Sets `dst_label` to `replacement` in series whose `src_label` matches `regex`, an RE2 expression anchored at both ' +
      'ends; `$1` and `${name}` in `replacement` stand for its groups.',
    body: labelReplace,
  },
  {
    name: 'label_join',
    args: { v: 'vector', dst_label: 'string', separator: 'string', src_label: 'string' },
    keepsValues: true,
    variadic: -1,
    keepsName: true,
    doc: 'Sets `dst_label` to the values of the source labels, joined with `separator`.',
    body: labelJoin,
  },
];
