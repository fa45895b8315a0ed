/** How serious a line is, the most serious first. */
export type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** All levels, the most serious first. */
export const LEVELS: readonly Level[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'];

/** What programs write for each level, in lower case; the numbers are those of Bunyan and pino. */
const LEVEL_WORDS: Readonly<Record<Level, readonly string[]>> = {
  fatal: ['fatal', 'panic', 'critical', 'crit', 'alert', 'emerg', 'emergency', 'f', '60'],
  error: ['error', 'err', 'severe', 'e', '50'],
  warn: ['warn', 'warning', 'w', '40'],
  info: ['info', 'information', 'informational', 'notice', 'i', '30'],
  debug: ['debug', 'dbg', 'fine', 'd', '20'],
  trace: ['trace', 'finest', 'verbose', 't', '10'],
};

const LEVEL_BY_WORD = new Map(LEVELS.flatMap((level) => LEVEL_WORDS[level].map((word) => [word, level] as const)));

/** Words in a line that name its level. The syntax is common to the browser and the server. */
const LINE_WORDS = 'trace|debug|info|notice|warning|warn|error|err|critical|crit|fatal|panic|emerg|alert';

/** Pattern of the first word of a line that names a level, whatever its letter case; for the server with `(?i)`. */
export const LEVEL_IN_LINE = `\\b(${LINE_WORDS})\\b`;

const IN_LINE = new RegExp(LEVEL_IN_LINE, 'i');

/** Returns the level that a text means, whatever its letter case. */
export function levelOf(text: string): Level | undefined {
  return LEVEL_BY_WORD.get(text.trim().toLowerCase());
}

/** Returns the level that a line begins with or has in it. */
export function levelInLine(line: string): Level | undefined {
  const word = IN_LINE.exec(line)?.[1];
  return word === undefined ? undefined : levelOf(word);
}

/** Returns the levels that a comparison with `level` selects: those `>=` it are at least as serious. */
export function levelsSelected(operator: string, level: Level): readonly Level[] {
  const rank = LEVELS.indexOf(level);
  return LEVELS.filter((_, other) => isSelected(operator, rank - other));
}

/** Returns the words, in lower case, that mean one of the levels. */
export function wordsOf(levels: readonly Level[]): string[] {
  return levels.flatMap((level) => LEVEL_WORDS[level]);
}

/** @param difference above 0 for levels that are more serious than the one of the comparison. */
function isSelected(operator: string, difference: number): boolean {
  switch (operator) {
    case '>':
      return difference > 0;
    case '>=':
      return difference >= 0;
    case '<':
      return difference < 0;
    case '<=':
      return difference <= 0;
    case '!=':
      return difference !== 0;
    default:
      return difference === 0;
  }
}
