import { Dates, daysInMonth, type Calendar } from '../common/calendar.js';
import { NO_LABELS } from '../../series/labels.js';
import { newSeries, SERIES_WORK, stepTimeMs, type Env, type Value } from '../runtime/env.js';
import { NO_SAMPLE, setFloat, type SampleSeries, type StepSeries } from '../runtime/samples.js';
import { instantSeconds, loadInstant } from '../runtime/select.js';
import type { VectorSelector } from '../syntax/ast.js';
import type { QueryRange } from '../syntax/signature.js';
import { mapFloats, vectorOf, type FunctionDefinition, type ValueFunction } from './function.js';

/** Declares a function that returns a part of the date of each value; of the evaluation time without argument. */
function dateFunction(name: string, doc: string, part: (calendar: Calendar) => number): FunctionDefinition {
  return {
    name,
    args: { v: 'vector' },
    variadic: 1,
    dependsOnTime: true,
    doc: `${doc} of each value, a Unix time in UTC; of the evaluation time without argument.`,
    body: {
      kind: 'value',
      async run({ env, args }) {
        const dates = new Dates();
        if (args.length > 0) {
          return { kind: 'vector', series: await mapFloats(vectorOf(args[0]), env, (x) => part(dates.of(x))) };
        }
        const series = newSeries(NO_LABELS, env, false);
        for (let step = 0; step < env.steps; step++) {
          setFloat(series, step, part(dates.of(stepTimeMs(env, step) / 1000)));
        }
        return { kind: 'vector', series: [series] };
      },
    },
  };
}

/** Declares a scalar that follows from the times of the query; it is replaced before evaluation. */
function rangeConstant(name: string, doc: string, queryConstant: (range: QueryRange) => number): FunctionDefinition {
  return {
    name,
    args: {},
    returns: 'scalar',
    isExperimental: true,
    dependsOnTime: true,
    dependsOnRange: true,
    doc,
    queryConstant,
  };
}

/** Returns a time of the sample that the selector has at each step, in seconds. */
async function sampleSeconds(
  selector: VectorSelector,
  env: Env,
  timesOf: (series: SampleSeries) => Float64Array | undefined,
): Promise<Value> {
  const series = await instantSeconds(await loadInstant(selector, env), selector, env, timesOf);
  return { kind: 'vector', series: series.map((one) => ({ ...one, isNameDropped: true })) };
}

const timeBody: ValueFunction = {
  kind: 'value',
  run({ env }) {
    const values = new Float64Array(env.steps);
    for (let step = 0; step < values.length; step++) values[step] = stepTimeMs(env, step) / 1000;
    return { kind: 'scalar', values };
  },
};

const timestampBody: ValueFunction = {
  kind: 'value',
  ofSelector: (selector, env) => sampleSeconds(selector, env, ({ times }) => times),
  async run({ env, args }) {
    const series: StepSeries[] = [];
    await env.scheduler.each(vectorOf(args[0]), SERIES_WORK, ({ labels, kinds }) => {
      const result = newSeries(labels, env, true);
      for (let step = 0; step < env.steps; step++) {
        if (kinds[step] !== NO_SAMPLE) setFloat(result, step, stepTimeMs(env, step) / 1000);
      }
      series.push(result);
    });
    return { kind: 'vector', series };
  },
};

/** Functions of time. */
export const DATE_FUNCTIONS: readonly FunctionDefinition[] = [
  {
    name: 'time',
    args: {},
    returns: 'scalar',
    dependsOnTime: true,
    dropsLabels: true,
    doc: 'The evaluation time, in seconds since 1970.',
    body: timeBody,
  },
  {
    name: 'timestamp',
    args: { v: 'vector' },
    dependsOnTime: true,
    readsSampleTimes: true,
    doc: 'The time of each sample, in seconds; the evaluation time where `v` is not a selector.',
    body: timestampBody,
  },
  {
    name: 'start_timestamp',
    args: { v: 'vector' },
    isExperimental: true,
    doc: 'The start time of the counter of each sample, in seconds, 0 if unknown; nothing where `v` is not a selector.',
    body: {
      kind: 'value',
      ofSelector: (selector, env) => sampleSeconds(selector, env, ({ startTimes }) => startTimes),
      run: () => ({ kind: 'vector', series: [] }),
    },
  },
  dateFunction('minute', 'Minute of the hour, 0 to 59,', ({ minute }) => minute),
  dateFunction('hour', 'Hour of the day, 0 to 23,', ({ hour }) => hour),
  dateFunction('day_of_week', 'Day of the week, 0 (Sunday) to 6,', ({ weekday }) => weekday),
  dateFunction('day_of_month', 'Day of the month, 1 to 31,', ({ day }) => day),
  dateFunction('day_of_year', 'Day of the year, 1 to 366,', ({ dayOfYear }) => dayOfYear),
  dateFunction('days_in_month', 'Number of days of the month', ({ year, month }) => daysInMonth(year, month)),
  dateFunction('month', 'Month, 1 to 12,', ({ month }) => month),
  dateFunction('year', 'Year', ({ year }) => year),
  rangeConstant('start', 'Start time of the query, in seconds.', ({ startMs }) => startMs / 1000),
  rangeConstant('end', 'End time of the query, in seconds.', ({ endMs }) => endMs / 1000),
  rangeConstant('range', 'Length of the query, in seconds.', ({ startMs, endMs }) => (endMs - startMs) / 1000),
  rangeConstant('step', 'Step of the query, in seconds; 0 for an instant query.', ({ stepMs }) => stepMs / 1000),
];
