import type { TimeRange } from '../../../time/range.js';

/** An example of what a series has counted, such as a request with its trace. */
export interface ChartExemplar {
  readonly timeMs: number;
  readonly value: number;
  /** Its own labels, such as the ID of the trace. */
  readonly labels: Readonly<Record<string, string>>;
  /** Those of the series that it belongs to. */
  readonly series: Readonly<Record<string, string>>;
  /** Whether its value belongs on the axis of the chart. */
  readonly isComparable: boolean;
}

/** Exemplars of a chart. */
export interface ExemplarChoice {
  /** By time. */
  readonly shown: readonly ChartExemplar[];
  /** In the range, with those that are not shown. */
  readonly totalCount: number;
}

/** More diamonds hide each other. */
export const EXEMPLARS_SHOWN_MAX = 200;

/** Returns exemplars to draw: of many the one with the greatest value of each interval. */
export function exemplarsToShow(all: readonly ChartExemplar[], { fromMs, toMs }: TimeRange): ExemplarChoice {
  const found = all.filter(({ timeMs, value }) => timeMs >= fromMs && timeMs <= toMs && !Number.isNaN(value));
  const totalCount = found.length;
  if (totalCount <= EXEMPLARS_SHOWN_MAX) return { shown: found.sort((a, b) => a.timeMs - b.timeMs), totalCount };
  const greatest: ChartExemplar[] = [];
  const intervalMs = (toMs - fromMs) / EXEMPLARS_SHOWN_MAX;
  for (const exemplar of found) {
    const at = Math.min(EXEMPLARS_SHOWN_MAX - 1, Math.floor((exemplar.timeMs - fromMs) / intervalMs));
    if (!(greatest[at]?.value >= exemplar.value)) greatest[at] = exemplar;
  }
  // Intervals without an exemplar are holes of the list.
  return { shown: Object.values(greatest), totalCount };
}

/** Returns the ID of the trace that an exemplar names, in the spellings of OpenTelemetry, Jaeger and Tempo. */
export function exemplarTrace({ labels }: ChartExemplar): string | undefined {
  const id = Object.entries(labels).find(([name]) => /^trace[_-]?id$/i.test(name))?.[1];
  return id !== undefined && /^[\da-f]{1,32}$/i.test(id) ? id.toLowerCase() : undefined;
}
