import { resolve } from 'node:path';

import { AlmanacError } from '#shared/errors/almanac-error';

import { readEnvironmentSource, readSecret } from './env-source.js';
import type { Environment } from './env.js';
import { readFileSource } from './file-source.js';
import { maskUrlPassword, quote, type Machine } from './key.js';
import type { Role } from './role.js';
import type { Config, ConfigSchema, Entry } from './schema.js';
import {
  DEFAULT_ORIGIN,
  emptyReading,
  ORIGIN_KINDS,
  type Assignment,
  type Origin,
  type ReadText,
  type SourceReading,
} from './source.js';

/** Files that are tried in this order when neither a flag nor the environment names one. */
const FILE_PLACES = ['./almanac.toml', '/etc/almanac/almanac.toml'];

/** A value from the command line. */
export interface FlagValue {
  /** As the user wrote it: `--http-addr`. */
  readonly flag: string;
  /** The key that it sets: `http.addr`. */
  readonly path: string;
  readonly value: string;
}

/** Everything that configuration is read from. */
export interface ConfigSources {
  readonly schema: ConfigSchema;
  readonly role: Role;
  readonly flags: readonly FlagValue[];
  /** The file of `--config-file`. */
  readonly configFile: string | undefined;
  readonly environment: Environment;
  readonly machine: Machine;
  readonly readText: ReadText;
}

/** The checked configuration and where each value came from. */
export interface LoadedConfig {
  readonly schema: ConfigSchema;
  readonly config: Config;
  /** By path of the key; every key has an entry. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The file that was read, if any. */
  readonly file: string | undefined;
  readonly warnings: readonly string[];
}

/**
 * Reads, validates and merges all sources. Flags override the environment, the environment overrides the file, and the
 * file overrides defaults.
 *
 * @throws `invalid_arguments` with every problem of every source, one per line.
 */
export function loadConfig(sources: ConfigSources): LoadedConfig {
  const { schema } = sources;
  const { file, reading: fileReading } = readConfigFile(sources);
  const readings = [fileReading, readEnvironmentSource(schema, sources), readFlags(sources.flags)];
  const problems = readings.flatMap((reading) => reading.problems);
  const winners = withStrictMode(readings.flatMap((reading) => reading.assignments));
  const origins = new Map<string, Origin>();
  const sections: Record<string, Record<string, unknown>> = {};
  for (const entry of schema.entries) {
    const { value, origin } = settle(entry, winners.get(entry.path), sources, problems);
    origins.set(entry.path, origin);
    sections[entry.section] ??= {};
    sections[entry.section][entry.property] = value;
  }
  const { top, ...others } = sections;
  // The loop over the schema has set every property of `Config`, which the compiler cannot infer.
  const config = { ...top, ...others } as unknown as Config;
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new AlmanacError('invalid_arguments', problems.join('\n'));
  return { schema, config, origins, file, warnings: readings.flatMap((reading) => reading.warnings) };
}

/** Reads the first existing file; a file that the user named must exist. */
function readConfigFile(sources: ConfigSources): { file: string | undefined; reading: SourceReading } {
  const named = sources.configFile ?? sources.environment['ALMANAC_CONFIG_FILE'];
  for (const file of named === undefined ? FILE_PLACES : [named]) {
    const text = sources.readText(file);
    if (text !== undefined) return { file, reading: readFileSource(text, file, sources.schema) };
  }
  const reading = emptyReading();
  if (named !== undefined) reading.problems.push(`there is no configuration file "${named}"`);
  return { file: undefined, reading };
}

function readFlags(flags: readonly FlagValue[]): SourceReading {
  const reading = emptyReading();
  for (const { flag, path, value } of flags) {
    reading.assignments.push({ path, raw: value, origin: { kind: 'flag', place: `flag ${flag}`, isSecret: false } });
  }
  return reading;
}

function strongest(assignments: readonly Assignment[]): ReadonlyMap<string, Assignment> {
  const strength = (assignment: Assignment): number => ORIGIN_KINDS.indexOf(assignment.origin.kind);
  const winners = new Map<string, Assignment>();
  for (const assignment of [...assignments].sort((a, b) => strength(a) - strength(b))) {
    winners.set(assignment.path, assignment);
  }
  return winners;
}

/**
 * Picks the assignments that take effect and keeps `http.is_strict_mode` consistent with `prom_store.prom_validation_mode`,
 * of which it is an alias: true is strict, false is lossy. If one source sets both, the validation mode takes precedence.
 */
function withStrictMode(assignments: readonly Assignment[]): ReadonlyMap<string, Assignment> {
  const flagPath = 'http.is_strict_mode';
  const modePath = 'prom_store.prom_validation_mode';
  const aliases = assignments
    .filter(({ path }) => path === flagPath)
    .map((flag): Assignment => {
      return { ...flag, path: modePath, raw: String(flag.raw).toLowerCase() === 'false' ? 'lossy' : 'strict' };
    });
  const winners = strongest([...aliases, ...assignments]);
  const mode = winners.get(modePath);
  if (mode === undefined || aliases.includes(mode)) return winners;
  return new Map([...winners, [flagPath, { ...mode, path: flagPath, raw: String(mode.raw === 'strict') }]]);
}

/** Returns the checked value of one key. A problem is recorded and the default returned, so that all problems are found. */
function settle(
  entry: Entry,
  assignment: Assignment | undefined,
  sources: ConfigSources,
  problems: string[],
): { value: unknown; origin: Origin } {
  const fallback = { value: entry.key.defaultValue(sources.machine, sources.role), origin: DEFAULT_ORIGIN };
  if (assignment === undefined) return fallback;
  let { raw, origin } = assignment;
  if (entry.key.isText && typeof raw === 'string' && raw.startsWith('file:')) {
    const path = raw.slice('file:'.length);
    const secret = readSecret(path, sources.readText);
    if (secret === undefined) {
      problems.push(`${origin.place}: ${entry.path}: there is no file "${path}"`);
      return fallback;
    }
    raw = secret;
    origin = { ...origin, isSecret: true };
  }
  try {
    return { value: entry.key.parse(raw, sources.machine), origin };
  } catch (error) {
    const isSecret = origin.isSecret || entry.key.isSecret === true;
    const shown = isSecret ? '***' : maskUrlPassword(typeof raw === 'string' ? quote(raw) : JSON.stringify(raw));
    const reason = AlmanacError.from(error).message;
    problems.push(`${origin.place}: ${entry.path} = ${shown}: ${reason}; allowed: ${entry.key.allowed}`);
    return fallback;
  }
}

/** Checks rules between keys. */
function contradictions(config: Config): string[] {
  const problems: string[] = [];
  const { memory, promql, query, storage, shutdown, wal } = config;
  const shares =
    memory.memtablePercent + memory.queryPercent + memory.enginePercent + memory.cachePercent + memory.bodyPercent;
  if (shares > 100) problems.push(`the shares of memory.limit add up to ${shares} percent; allowed: at most 100`);
  if (query.timeoutMs > query.maxTimeoutMs) problems.push('query.timeout is longer than query.max_timeout');
  if (promql.timeoutMs > query.maxTimeoutMs) problems.push('promql.timeout is longer than query.max_timeout');
  if (storage.gcGraceMs <= query.maxTimeoutMs) {
    problems.push('storage.gc_grace must be longer than query.max_timeout, or files could vanish under a query');
  }
  if (storage.copyRoot !== undefined && overlaps(resolve(storage.copyRoot), resolve(storage.dataHome), wal.dir)) {
    problems.push('storage.copy_root holds files of the data folder or of the log, which SQL could overwrite');
  }
  problems.push(...missingPaths('http.tls', config['http.tls']), ...missingPaths('grpc.tls', config['grpc.tls']));
  if (shutdown.delayMs >= shutdown.timeoutMs) problems.push('shutdown.delay must be shorter than shutdown.timeout');
  return problems;
}

/** Folders of the data folder that Almanac uses itself. */
const OWN_FOLDERS = ['store', 'metadata', 'slots', 'scratch'];

/** Whether the folder of files in SQL and one with data are inside one another. All paths are absolute. */
function overlaps(copyRoot: string, dataHome: string, walFolder: string | undefined): boolean {
  const isIn = (inner: string, outer: string): boolean => `${inner}/`.startsWith(`${outer}/`);
  const own = OWN_FOLDERS.map((name) => `${dataHome}/${name}`);
  if (walFolder !== undefined) own.push(resolve(walFolder));
  return isIn(dataHome, copyRoot) || own.some((folder) => isIn(copyRoot, folder) || isIn(folder, copyRoot));
}

/** Returns a problem for each file that a section with TLS turned on does not name. */
function missingPaths(section: string, values: Config['http.tls'] | Config['grpc.tls']): string[] {
  if (values.mode === 'disable') return [];
  const paths = { cert_path: values.certPath, key_path: values.keyPath };
  const all = 'caCertPath' in values ? { ...paths, ca_cert_path: values.caCertPath } : paths;
  const missing = Object.entries(all).filter(([, path]) => path === '');
  return missing.map(([key]) => `${section}.mode = "${values.mode}" needs ${section}.${key}`);
}
