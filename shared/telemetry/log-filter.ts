import { AlmanacError } from '#shared/errors/almanac-error';

/** Levels by ascending detail; users may write a level's index instead of its name. */
export const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const;
/** A level of a filter. */
export type Level = (typeof LEVELS)[number];
/** A level of a log line. */
export type LineLevel = Exclude<Level, 'off'>;

/** First words of the dotted component names that log lines carry. */
const PARTS: ReadonlySet<string> = new Set([
  'audit',
  'catalog',
  'gateway',
  'grpc',
  'ingester',
  'main',
  'membership',
  'metadata',
  'metrics',
  'profiling',
  'querier',
  'tracing',
]);

/** Decides which lines are written: a default level, and levels for parts of the program. */
export interface LogFilter {
  /** The text that it was parsed from. */
  readonly text: string;
  /** Returns the level of a component: the longest listed prefix of its dotted name applies. */
  levelOf(component: string): Level;
}

/**
 * Parses `info,gateway=debug`: a level, `part=level`, or `part` alone for every line of that part. Unknown parts are
 * refused, because a misspelt level looks like one. Levels may be in any letter case, or numbers from 0 (off) to
 * 5 (trace). Without a default level it is `info`.
 *
 * @throws `invalid_arguments` if an item is none of these.
 */
export function parseLogFilter(text: string): LogFilter {
  const trimmed = text.trim();
  let rest: Level = 'info';
  const parts = new Map<string, Level>();
  for (const item of trimmed.split(',').map((piece) => piece.trim())) {
    const [name, levelName, ...more] = item.split('=').map((piece) => piece.trim());
    const bareLevel = levelName === undefined ? parseLevel(name) : undefined;
    const level = levelName === undefined ? levelOfAll(name) : parseLevel(levelName);
    if (bareLevel !== undefined) rest = bareLevel;
    else if (level === undefined || more.length > 0 || !/^[a-z][a-z0-9_.-]*$/i.test(name)) throw invalidFilter(trimmed);
    else parts.set(name, level);
  }
  return { text: trimmed, levelOf: (component) => longestPrefix(parts, component) ?? rest };
}

/** Returns the level that an item without `=` sets for all parts; undefined if it names a part. */
function levelOfAll(name: string): Level | undefined {
  return PARTS.has(name.split('.', 1)[0]) ? 'trace' : undefined;
}

function parseLevel(text: string): Level | undefined {
  if (/^[0-5]$/.test(text)) return LEVELS[Number(text)];
  return LEVELS.find((level) => level === text.toLowerCase());
}

function longestPrefix(parts: ReadonlyMap<string, Level>, component: string): Level | undefined {
  let name = component;
  while (name !== '') {
    const level = parts.get(name);
    if (level !== undefined) return level;
    name = name.slice(0, Math.max(0, name.lastIndexOf('.')));
  }
  return undefined;
}

function invalidFilter(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid filter "${text}"`);
}
