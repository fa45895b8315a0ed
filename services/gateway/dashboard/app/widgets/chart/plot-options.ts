import uPlot from 'uplot';

import type { ValueUnit } from '../../format/numbers.js';
import type { TimeRange } from '../../time/range.js';
import { alignSeries, type AlignedSeries } from './align.js';
import { drawnBounds, isLogarithmic, type HeatmapCells } from './heatmap-cells.js';
import type { ChartKind, ChartScale, ChartSeries, ValueBounds } from './series.js';
import type { SeriesStyle } from './series-style.js';
import { stackSeries } from './stack.js';
import { timeTicks, type TimeTicks } from './time-ticks.js';
import { tickDistances, tickTexts } from './value-ticks.js';

/** What a plot shows. */
export interface PlotModel {
  /** Those that are drawn, without the hidden ones. */
  readonly series: readonly ChartSeries[];
  /** As many as series. */
  readonly styles: readonly SeriesStyle[];
  readonly range: TimeRange;
  readonly unit: ValueUnit;
  readonly kind: ChartKind;
  readonly scale: ChartScale;
  readonly bounds: ValueBounds;
  readonly zone: string;
  readonly stepMs: number | undefined;
  /** Drawn below the series. */
  readonly cells: HeatmapCells | undefined;
}

/** Colours and sizes of a plot. */
export interface PlotLook {
  readonly text: string;
  readonly line: string;
  readonly back: string;
  readonly widthPx: number;
  readonly heightPx: number;
  /** 1 on the page; fonts and lines of pictures are larger. */
  readonly factor: number;
}

const FONT_PX = 12;
const CHARACTER_PX = 7;
const TICK_X_PX = 85;
const TICK_Y_PX = 36;
const AXIS_X_PX = 42;
/** Above this number of series thick lines hide each other, and take longer to draw. */
const THICK_SERIES_MAX = 30;
/** The library declares its numbers as constants that only its own build can read. */
const LOGARITHMIC = { distr: 3 } as unknown as Pick<uPlot.Scale, 'distr'>;
const SERIES_FIRST = { drawOrder: ['series', 'axes'] } as unknown as Pick<uPlot.Options, 'drawOrder'>;
const PADDING: uPlot.Range.Config = {
  min: { pad: 0.1, soft: 0, mode: 3 },
  max: { pad: 0.1, soft: 0, mode: 3 },
};

/** Returns the data of a plot at common times, stacked if the kind requires it. */
export function plotData(model: PlotModel): AlignedSeries {
  const aligned = alignSeries(model.series, model.stepMs, hasLogScale(model));
  return isStacked(model.kind) ? { ...aligned, values: stackSeries(aligned.values) } : aligned;
}

/** Sums have no place on a logarithmic axis; cells have the axis that shows all of them. */
function hasLogScale({ scale, kind, cells }: PlotModel): boolean {
  if (cells !== undefined && cells.buckets.length > 0) return isLogarithmic(cells.buckets);
  return scale === 'log' && !isStacked(kind);
}

/** Returns whether values of a kind are added up. */
export function isStacked(kind: ChartKind): boolean {
  return kind === 'area' || kind === 'bars';
}

/**
 * Returns the options of a plot without what it does when the pointer acts on it.
 *
 * @param view the range that is in view, called whenever the plot is drawn: gestures move it before the model changes.
 */
export function plotOptions(
  model: PlotModel,
  look: PlotLook,
  aligned: AlignedSeries,
  view: () => TimeRange,
): uPlot.Options {
  const { factor } = look;
  // Half of the first and last bar is outside of the range.
  const halfMs = model.kind === 'bars' ? (model.stepMs ?? 0) / 2 : 0;
  return {
    width: look.widthPx,
    height: look.heightPx,
    ms: 1,
    padding: [8 * factor, 12 * factor, 0, 0],
    legend: { show: false },
    // What is filled would hide the lines of the axes.
    ...(isStacked(model.kind) ? SERIES_FIRST : {}),
    scales: { x: { time: false, range: () => [view().fromMs - halfMs, view().toMs + halfMs] }, y: valueScale(model) },
    axes: [timeAxis(model, look), valueAxis(model, look)],
    series: [{}, ...model.series.map((_, i) => lineOf(model, look, i, aligned.lone[i]))],
  };
}

function valueScale(model: PlotModel): uPlot.Scale {
  const { scale, kind, bounds, cells } = model;
  const bounded = ([low, high]: uPlot.Range.MinMax): uPlot.Range.MinMax => {
    const [min, max] = [bounds.min ?? low, bounds.max ?? high];
    return min !== null && max !== null && min >= max ? [low, high] : [min, max];
  };
  const isLog = hasLogScale(model);
  if (cells !== undefined && cells.buckets.length > 0) {
    const { low } = drawnBounds(cells.buckets, 0);
    const { high } = drawnBounds(cells.buckets, cells.buckets.length - 1);
    return { ...(isLog ? LOGARITHMIC : {}), range: [low, high] };
  }
  if (isLog) {
    return {
      ...LOGARITHMIC,
      range: (_plot, low, high) => {
        // The base cannot be computed from bounds that are missing, or not positive.
        const natural = low === null || !(low > 0) ? ([0.1, 10] as const) : uPlot.rangeLog(low, high, 10, false);
        const [min, max] = bounded([natural[0], natural[1]]);
        return min !== null && min > 0 ? [min, max] : [natural[0], max];
      },
    };
  }
  const hasZero = scale === 'zero' || isStacked(kind);
  return {
    range: (_plot, low, high) => {
      if (low === null || high === null) return bounded([0, 1]);
      const [min, max] = hasZero ? [Math.min(0, low), Math.max(0, high)] : [low, high];
      return bounded(uPlot.rangeNum(min, max, PADDING));
    },
  };
}

function timeAxis({ zone }: PlotModel, look: PlotLook): uPlot.Axis {
  let ticks: TimeTicks = { times: [], texts: [] };
  return {
    ...lineLook(look),
    size: AXIS_X_PX * look.factor,
    splits: (plot, _axis, min, max) => {
      const count = Math.floor(plot.width / (TICK_X_PX * look.factor));
      ticks = timeTicks(min, max, zone, count);
      return [...ticks.times];
    },
    values: () => [...ticks.texts],
  };
}

function valueAxis(model: PlotModel, look: PlotLook): uPlot.Axis {
  const { unit } = model;
  const isLog = hasLogScale(model);
  const distances = isLog ? undefined : tickDistances(unit);
  const lines = lineLook(look);
  return {
    ...lines,
    // Nine lines a decade hide what is drawn.
    ...(isLog ? { grid: { ...lines.grid, filter: (_plot, splits) => splits.map(powerOfTen) } } : {}),
    scale: 'y',
    space: TICK_Y_PX * look.factor,
    ...(distances === undefined ? {} : { incrs: [...distances] }),
    size: (_plot, texts) => {
      const length = Math.max(3, ...(texts ?? []).map((text) => text?.length ?? 0));
      return (length * CHARACTER_PX + 14) * look.factor;
    },
    values: (_plot, splits) => [...tickTexts(splits, unit)],
  };
}

function powerOfTen(value: number): number | null {
  return Math.abs(Math.log10(value) % 1) < 1e-9 ? value : null;
}

function lineLook({ text, line, factor }: PlotLook): uPlot.Axis {
  return {
    stroke: text,
    font: `${FONT_PX * factor}px system-ui, 'DejaVu Sans', sans-serif`,
    gap: 5 * factor,
    grid: { stroke: line, width: factor },
    ticks: { stroke: line, width: factor, size: 4 * factor },
  };
}

function lineOf(model: PlotModel, look: PlotLook, position: number, lone: readonly number[]): uPlot.Series {
  const { kind, styles, series } = model;
  const { colour, dash } = styles[position];
  const width = (series.length > THICK_SERIES_MAX ? 1 : 1.5) * look.factor;
  const points = { size: (kind === 'points' ? 4 : 5) * look.factor, stroke: colour, fill: colour, width: 0 };
  const line: uPlot.Series = {
    scale: 'y',
    stroke: colour,
    width,
    ...(dash.length === 0 ? {} : { dash: dash.map((length) => length * look.factor) }),
    points: { ...points, show: lone.length > 0, filter: [...lone] },
  };
  switch (kind) {
    case 'line':
      return line;
    case 'area':
      return { ...line, fill: mixed(colour, look.back) };
    case 'bars':
      return { ...line, width: 0, fill: colour, paths: barPaths(look), points: { show: false } };
    case 'points':
      return { ...line, paths: () => null, points: { ...points, show: true } };
  }
}

function barPaths({ factor }: PlotLook): uPlot.Series.PathBuilder {
  const { bars } = uPlot.paths;
  return bars === undefined ? () => null : bars({ size: [0.85, 80 * factor, 1] });
}

/** A colour that hides what is below, unlike a transparent one. */
function mixed(colour: string, back: string): string {
  return `color-mix(in srgb, ${colour} 45%, ${back})`;
}
