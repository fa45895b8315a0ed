import { AlmanacError } from '#shared/errors/almanac-error';

/** From the most important to the most detailed; the place in the list is the number that users may write. */
export const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type Level = (typeof LEVELS)[number];
export type LineLevel = Exclude<Level, 'off'>;

/** The parts of the program that write lines, by the first word of their dotted names. */
const PARTS: ReadonlySet<string> = new Set([
  'catalog',
  'gateway',
  'grpc',
  'ingester',
  'main',
  'membership',
  'metadata',
  'querier',
]);

/** Which lines are written: a level for all, and levels for parts of the program. */
export interface LogFilter {
  /** As the user wrote it. */
  readonly text: string;
  /** The level of a component: the longest prefix of its dotted name that is named wins. */
  levelOf(component: string): Level;
}

/**
 * Parses `info,gateway=debug`: a level, `part=level`, or `part` alone for everything of that part, which
 * has to be one that there is: a level with a wrong letter looks alike. Levels in any letter case, or as numbers from 0
 * (off) to 5 (trace). Without a level for all it is `info`.
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

/** What a part alone means. */
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
