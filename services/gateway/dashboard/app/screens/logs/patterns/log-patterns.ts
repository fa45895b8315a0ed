import { maskLine, type MaskedLine } from './mask-line.js';

/** What patterns need of a line. */
export interface TimedLine {
  readonly timeNs: bigint;
  readonly text: string;
}

/** Similar lines. */
export interface LogPattern<T extends TimedLine> extends MaskedLine {
  readonly count: number;
  /** The newest of the lines. */
  readonly newest: T;
  /** Numbers of lines in intervals of equal length. */
  readonly trend: readonly number[];
}

/** The patterns of lines. */
export interface LogPatterns<T extends TimedLine> {
  /** The most frequent one first. */
  readonly patterns: readonly LogPattern<T>[];
  readonly lineCount: number;
  /** Lines of further patterns, which are not listed. */
  readonly otherCount: number;
  /** Length of an interval of the trends. */
  readonly intervalMs: number;
}

/** Patterns that are kept at most: lines that have little in common would make one each. */
export const PATTERNS_MAX = 1000;
/** Intervals of a trend. */
export const TREND_INTERVALS = 24;

interface GrowingPattern<T extends TimedLine> extends MaskedLine {
  count: number;
  newest: T;
  readonly trend: number[];
}

/** How long the page waits for input at most. */
const BUSY_MS_MAX = 8;

/**
 * Groups lines by their patterns, in time linear in their number.
 *
 * @param pause called between slices of the work, to let the page handle input.
 */
export async function findPatterns<T extends TimedLine>(
  lines: readonly T[],
  pause: () => Promise<void>,
  signal?: AbortSignal,
): Promise<LogPatterns<T>> {
  const groups = new Map<string, GrowingPattern<T>>();
  const { startNs, intervalNs } = intervalsOf(lines);
  let otherCount = 0;
  let sinceMs = performance.now();
  for (const line of lines) {
    if (performance.now() - sinceMs > BUSY_MS_MAX) {
      await pause();
      signal?.throwIfAborted();
      sinceMs = performance.now();
    }
    const masked = maskLine(line.text);
    let group = groups.get(masked.key);
    if (group === undefined) {
      if (groups.size >= PATTERNS_MAX) {
        otherCount++;
        continue;
      }
      group = { ...masked, count: 0, newest: line, trend: new Array<number>(TREND_INTERVALS).fill(0) };
      groups.set(masked.key, group);
    }
    group.count++;
    group.trend[Number((line.timeNs - startNs) / intervalNs)]++;
    if (line.timeNs > group.newest.timeNs) group.newest = line;
  }
  const patterns = [...groups.values()].sort((a, b) => b.count - a.count);
  return { patterns, lineCount: lines.length, otherCount, intervalMs: Number(intervalNs) / 1e6 };
}

/** Divides the time from the oldest to the newest line. */
function intervalsOf(lines: readonly TimedLine[]): { readonly startNs: bigint; readonly intervalNs: bigint } {
  let [startNs, endNs] = [lines[0]?.timeNs ?? 0n, lines[0]?.timeNs ?? 0n];
  for (const { timeNs } of lines) {
    if (timeNs < startNs) startNs = timeNs;
    else if (timeNs > endNs) endNs = timeNs;
  }
  // The newest line is within the last interval.
  return { startNs, intervalNs: (endNs - startNs) / BigInt(TREND_INTERVALS) + 1n };
}
