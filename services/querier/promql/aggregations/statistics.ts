import { quantileOf } from '../quantile.js';
import { FLOAT, HISTOGRAM, NONE, setFloat } from '../samples.js';
import type { AggregationCall, Group, GroupReducer } from './aggregation.js';

/** The numbers of a group at a step; histograms are left out, with an info. */
function floatsAt({ series }: Group, step: number, { expr, env }: AggregationCall): number[] {
  const floats: number[] = [];
  for (const { kinds, values } of series) {
    if (kinds[step] === FLOAT) floats.push(values[step]);
    if (kinds[step] === HISTOGRAM) env.notes.info(`ignored histogram in ${expr.op} aggregation`, expr.expr);
  }
  return floats;
}

function byFloats(reduce: (floats: number[], step: number, call: AggregationCall) => number): GroupReducer {
  return (group, result, call) => {
    for (let step = 0; step < call.env.steps; step++) {
      const floats = floatsAt(group, step, call);
      if (floats.length > 0) setFloat(result, step, reduce(floats, step, call));
    }
  };
}

/** NaN only where all are. */
export const min = byFloats((floats) => floats.reduce((least, x) => (x < least || Number.isNaN(least) ? x : least)));
export const max = byFloats((floats) => floats.reduce((most, x) => (x > most || Number.isNaN(most) ? x : most)));

export const stdvar = byFloats(variance);
export const stddev = byFloats((floats) => Math.sqrt(variance(floats)));

export const quantile = byFloats((floats, step, { param }) => quantileOf(param?.[step] ?? NaN, floats));

export const count: GroupReducer = ({ series }, result, { env }) => {
  for (let step = 0; step < env.steps; step++) {
    const present = series.reduce((sum, { kinds }) => sum + (kinds[step] === NONE ? 0 : 1), 0);
    if (present > 0) setFloat(result, step, present);
  }
};

export const group: GroupReducer = ({ series }, result, { env }) => {
  for (let step = 0; step < env.steps; step++) {
    if (series.some(({ kinds }) => kinds[step] !== NONE)) setFloat(result, step, 1);
  }
};

/** Welford's population variance; not finite if the first value is not. */
function variance(floats: readonly number[]): number {
  if (!Number.isFinite(floats[0])) return NaN;
  let mean = 0;
  let squares = 0;
  for (const [i, x] of floats.entries()) {
    const distance = x - mean;
    mean += distance / (i + 1);
    squares += distance * (x - mean);
  }
  return squares / floats.length;
}
