/** Units that the times of lines may have, with their names. */
export const PRECISIONS = { ns: 'nanoseconds', us: 'microseconds', ms: 'milliseconds', s: 'seconds' } as const;

/** Unit of the times of lines. */
export type Precision = keyof typeof PRECISIONS;

/** Times that are unlikely in the chosen unit, and likely in another one. */
export interface DoubtfulTimes {
  /** The likely unit. */
  readonly unit: Precision;
  /** Years of the first of these times, in the chosen and in the likely unit. */
  readonly chosenYear: string;
  readonly year: string;
}

const PER_SECOND: Readonly<Record<Precision, number>> = { ns: 1e9, us: 1e6, ms: 1000, s: 1 };
const [LIKELY_FROM_S, LIKELY_TO_S] = [Date.UTC(1990, 0) / 1000, Date.UTC(2101, 0) / 1000];
/** Lines whose times are checked: they have the same unit mostly. */
const CHECKED_LINES = 100;
const TIME = /\s(-?\d{1,19})\s*$/;

/** Checks the times of the first lines; undefined if they are likely, or if no unit makes them so. */
export function doubtfulTimes(lines: string, chosen: Precision): DoubtfulTimes | undefined {
  for (const line of dataLines(lines, CHECKED_LINES)) {
    const time = TIME.exec(line)?.[1];
    if (time === undefined || isLikely(Number(time), chosen)) continue;
    const unit = (Object.keys(PRECISIONS) as Precision[]).find((each) => isLikely(Number(time), each));
    if (unit !== undefined) return { unit, chosenYear: yearOf(Number(time), chosen), year: yearOf(Number(time), unit) };
  }
  return undefined;
}

function isLikely(time: number, unit: Precision): boolean {
  const seconds = time / PER_SECOND[unit];
  return seconds >= LIKELY_FROM_S && seconds < LIKELY_TO_S;
}

function yearOf(time: number, unit: Precision): string {
  const year = new Date((time / PER_SECOND[unit]) * 1000).getUTCFullYear();
  // Dates end in the year 275760.
  return Number.isNaN(year) ? 'no year of the calendar' : String(year);
}

/** Returns the lines that are neither empty nor comments. @param max lines after this many are left out. */
export function dataLines(text: string, max = Infinity): string[] {
  const found: string[] = [];
  for (const line of text.split('\n')) {
    if (found.length >= max) break;
    if (line.trim() !== '' && !line.trim().startsWith('#')) found.push(line);
  }
  return found;
}

/** Returns the table that a line is stored in: what is before the first comma or space without a backslash. */
export function tableOfLine(line: string): string {
  const [name] = /^(?:\\.|[^\\, ])*/.exec(line.trimStart()) ?? [''];
  return name.replaceAll(/\\([, ="])/g, '$1');
}

/** Returns a line as an example, with the time of now. */
export function exampleLine(unit: Precision): string {
  const time = unit === 'ns' ? `${Date.now()}000000` : String(Math.floor((Date.now() / 1000) * PER_SECOND[unit]));
  return `weather,city=Oslo temperature=3.5,humidity=81i ${time}\n`;
}
