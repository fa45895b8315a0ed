/** How the line of a series is drawn. */
export interface SeriesStyle {
  readonly colour: string;
  /** Lengths of dashes and spaces in pixels; empty for a full line. */
  readonly dash: readonly number[];
}

/** Neighbours differ in hue and lightness. The contrast to the background is at least 3:1. */
export const SERIES_COLOURS_LIGHT: readonly string[] = [];
/** The same hues for the dark theme. */
export const SERIES_COLOURS_DARK: readonly string[] = [];

/** Patterns of the first twenty series, the next twenty .. */
const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 5], [5, 2, 2, 2, 2, 2]];

/** Returns the style of the series at a position among all of a chart. */
export function seriesStyle(position: number, isDark: boolean): SeriesStyle {
  const colours = isDark ? SERIES_COLOURS_DARK : SERIES_COLOURS_LIGHT;
  const round = Math.floor(position / colours.length);
  return { colour: colours[position % colours.length], dash: DASHES[round % DASHES.length] };
}
