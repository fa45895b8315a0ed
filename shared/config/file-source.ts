import { parse } from 'toml';

import type { RawValue } from './key.js';
import { suggestion } from './nearest.js';
import type { ConfigSchema } from './schema.js';
import { emptyReading, type SourceReading } from './source.js';

/** Sections of other products' files that Almanac ignores with a warning instead of refusing them. */
const FOREIGN_SECTIONS: ReadonlySet<string> = new Set([
  'runtime',
  'internal_grpc',
  'mysql',
  'postgres',
  'metadata_store',
  'procedure',
  'meta_client',
  'datanode',
  'region_engine',
  'backend_tls',
  'backend_client',
  'failure_detector',
  'stats_persistence',
  'event_recorder',
  'plugins',
  'heartbeat_env_vars',
]);

type Table = Readonly<Record<string, unknown>>;

/** Reads a TOML file against the schema; problems are collected, not thrown. */
export function readFileSource(text: string, file: string, schema: ConfigSchema): SourceReading {
  const reading = emptyReading();
  const root = parseToml(text, file, reading);
  if (root === undefined) return reading;

  const positions = findPositions(text);
  const place = (path: string): string =>
    `${file}:${positions.get(path) ?? positions.get(path.split('.')[0]) ?? '1:1'}`;
  const assign = (path: string, value: unknown): void => {
    const entry = schema.entries.find((candidate) => candidate.path === path);
    if (entry === undefined) {
      const names = [...schema.entries.map((known) => known.path), ...schema.sections.filter((name) => name !== 'top')];
      reading.problems.push(`${place(path)}: unknown key "${path}"${suggestion(path, names)}`);
    } else if (isRawValue(value)) {
      reading.assignments.push({ path, raw: value, origin: { kind: 'file', place: place(path), isSecret: false } });
    } else reading.problems.push(`${place(path)}: ${path} has a value of a wrong type; allowed: ${entry.key.allowed}`);
  };
  const readSection = (section: string, value: unknown): void => {
    if (!isTable(value)) {
      reading.problems.push(`${place(section)}: "${section}" is a section, write [${section}]`);
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      const path = `${section}.${key}`;
      if (schema.sections.includes(path)) readSection(path, inner);
      else assign(path, inner);
    }
  };
  for (const [name, value] of Object.entries(root)) {
    if (FOREIGN_SECTIONS.has(name)) {
      reading.warnings.push(`${place(name)}: "${name}" has no meaning here and is ignored`);
    } else if (name !== 'top' && schema.sections.includes(name)) readSection(name, value);
    else assign(name, value);
  }
  return reading;
}

function parseToml(text: string, file: string, reading: SourceReading): Table | undefined {
  try {
    return parse(text) as Table;
  } catch (error) {
    const { line, column, reason } = describeTomlError(error);
    reading.problems.push(`${file}:${line}:${column}: not valid TOML: ${reason}`);
    return undefined;
  }
}

/** The parser reports a position in two ways: syntax errors have a `location`, semantic errors `line` and `column`. */
function describeTomlError(error: unknown): { line: number; column: number; reason: string } {
  const thrown = error as Error & {
    line?: number;
    column?: number;
    location?: { start: { line: number; column: number } };
  };
  return {
    line: thrown.location?.start.line ?? thrown.line ?? 1,
    column: thrown.location?.start.column ?? thrown.column ?? 1,
    reason: thrown.message,
  };
}

/**
 * Finds `line:column` of each section and key.
 *
 * The parser keeps no positions of values, so sections and keys are searched for in the text. A line inside
 * a multi-line string can look like a key; the first match of a path wins, and only messages depend on it.
 */
function findPositions(text: string): ReadonlyMap<string, string> {
  const positions = new Map<string, string>();
  let section = '';
  for (const [index, line] of text.split('\n').entries()) {
    const header = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line);
    const key = header === null ? /^\s*([A-Za-z0-9_."'-]+(?:\s*\.\s*[A-Za-z0-9_"'-]+)*)\s*=/.exec(line) : null;
    if (header !== null) section = plainName(header[1]);
    const path = header !== null ? section : key === null ? '' : [section, plainName(key[1])].filter(Boolean).join('.');
    const column = line.length - line.trimStart().length + 1;
    if (path !== '' && !positions.has(path)) positions.set(path, `${index + 1}:${column}`);
  }
  return positions;
}

function plainName(name: string): string {
  return name.replace(/["'\s]/g, '');
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function isRawValue(value: unknown): value is RawValue {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
