import type { FloatRange, RangeContext, RangeFunction, RangeSamples } from '../functions/function.js';
import { newSeries } from '../runtime/env.js';
import { hasSamples, type MutableSeries, type SampleSeries, type StepSeries } from '../runtime/samples.js';
import { UNIT_WORK } from '../runtime/scheduler.js';
import { fillWindows, type Windows } from '../runtime/select.js';

/** Computes a range function of all series. */
export async function overWindows(
  { samples, windows }: RangeSamples,
  keepsName: boolean,
  { run, floats }: RangeFunction,
  context: RangeContext,
): Promise<StepSeries[]> {
  const { scheduler, steps } = context.env;
  const found: StepSeries[] = [];
  for (const series of samples) {
    if (series.times.length === 0) continue;
    const result = newSeries(series.labels, context.env, series.isNameDropped === true || !keepsName);
    if (floats !== undefined && series.histograms === undefined) {
      for (let from = 0; from < steps;) {
        if (scheduler.isDue) await scheduler.yield();
        from = floatUnit(floats, { series, windows, result, context }, from);
      }
    } else {
      await scheduler.ranges(steps, 1, (from, to) => fillWindows(windows, series, from, to));
      await scheduler.finish(run(series, windows, result, context));
    }
    if (hasSamples(result)) found.push(result);
  }
  return found;
}

/** A series of floats and where the results of its windows go. */
export interface FloatRun {
  readonly series: SampleSeries;
  readonly windows: Windows;
  readonly result: MutableSeries;
  readonly context: RangeContext;
}

/** Computes one unit: as many steps as are fast enough. @returns the step after them. */
export function floatUnit(floats: FloatRange, { series, windows, result, context }: FloatRun, from: number): number {
  const { limits, steps } = context.env;
  const to = Math.min(steps, from + limits.stepsPerChunk);
  fillWindows(windows, series, from, to);
  const end = unitEnd(windows, from, to);
  floats(series, windows, result, context, { from, to: end });
  limits.spend(windowWork(windows, from, end));
  return end;
}

/** Number of samples of windows that cost as much as reading one: blocks of samples are computed in advance. */
const SAMPLES_PER_WORK = 32;

/** Most work of some windows: each may be as long as their whole range. */
function windowWork({ from, to }: Windows, first: number, end: number): number {
  return (end - first) * (1 + (to[end - 1] - from[first]) / SAMPLES_PER_WORK);
}

/** Returns the end of the steps from `first` on whose windows are one unit. */
function unitEnd(windows: Windows, first: number, to: number): number {
  if (windowWork(windows, first, to) <= UNIT_WORK) return to;
  let work = 0;
  let end = first;
  while (end < to && work < UNIT_WORK) {
    work += 1 + (windows.to[end] - windows.from[end]) / SAMPLES_PER_WORK;
    end++;
  }
  return end;
}
