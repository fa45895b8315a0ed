/** How the line of a series is drawn. */
export interface SeriesStyle {
  readonly colour: string;
  /** Lengths of dashes and spaces in pixels; empty for a full line. */
  readonly dash: readonly number[];
}

/** Each differs from all before it as much as possible. The contrast to the background is at least 3:1. */
export const SERIES_COLOURS_LIGHT: readonly string[] = [
  '#2456c9',
  '#ea5202',
  '#009c1e',
  '#632a03',
  '#c458cf',
  '#41089c',
  '#128ac0',
  '#ad8604',
  '#024b0b',
  '#bc1d6f',
  '#5c1d63',
  '#7977fe',
  '#975d04',
  '#08616b',
  '#e8477e',
  '#791ea3',
  '#089678',
  '#a2080c',
  '#033e72',
  '#575a00',
];
/** Those of the dark theme, chosen in the same way. */
export const SERIES_COLOURS_DARK: readonly string[] = [
  '#8db4ff',
  '#dd410d',
  '#d8ed20',
  '#009c1e',
  '#b24dc8',
  '#fbcbfe',
  '#fe9135',
  '#01edb5',
  '#0d9298',
  '#ec59ae',
  '#6e69f3',
  '#b69513',
  '#99eeff',
  '#ffb6a2',
  '#e781fe',
  '#1c9dfd',
  '#7fca23',
  '#be5b77',
  '#feda81',
  '#05cbc6',
];

/** Patterns of the first twenty series, the next twenty .. */
const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 5], [5, 2, 2, 2, 2, 2]];

/** Returns the style of the series at a position among all of a chart. */
export function seriesStyle(position: number, isDark: boolean): SeriesStyle {
  const colours = isDark ? SERIES_COLOURS_DARK : SERIES_COLOURS_LIGHT;
  const round = Math.floor(position / colours.length);
  return { colour: colours[position % colours.length], dash: DASHES[round % DASHES.length] };
}
