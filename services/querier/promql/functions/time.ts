import { Dates, daysInMonth, type Calendar } from '../common/calendar.js';
import { newSeries, stepTimeMs } from '../runtime/env.js';
import { NO_LABELS } from '../../series/labels.js';
import { setFloat } from '../runtime/samples.js';
import { mapFloats, vectorOf, type ValueFunction } from './function.js';

/** A part of the date of each value, or of the time of evaluation if there is no argument. */
function part(of: (calendar: Calendar) => number): ValueFunction {
  return {
    kind: 'value',
    async run({ env, args }) {
      const dates = new Dates();
      if (args.length > 0) {
        return { kind: 'vector', series: await mapFloats(vectorOf(args[0]), env, (x) => of(dates.of(x))) };
      }
      const series = newSeries(NO_LABELS, env, false);
      for (let step = 0; step < env.steps; step++) setFloat(series, step, of(dates.of(stepTimeMs(env, step) / 1000)));
      return { kind: 'vector', series: [series] };
    },
  };
}

export const TIME: Readonly<Record<string, ValueFunction>> = {
  time: {
    kind: 'value',
    run({ env }) {
      const values = new Float64Array(env.steps);
      for (let step = 0; step < values.length; step++) values[step] = stepTimeMs(env, step) / 1000;
      return { kind: 'scalar', values };
    },
  },
  minute: part(({ minute }) => minute),
  hour: part(({ hour }) => hour),
  day_of_week: part(({ weekday }) => weekday),
  day_of_month: part(({ day }) => day),
  day_of_year: part(({ dayOfYear }) => dayOfYear),
  days_in_month: part(({ year, month }) => daysInMonth(year, month)),
  month: part(({ month }) => month),
  year: part(({ year }) => year),
};
