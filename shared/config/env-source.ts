import type { Environment } from './env.js';
import { suggestion } from './nearest.js';
import { ROLES, type Role } from './role.js';
import type { ConfigSchema, Entry } from './schema.js';
import { emptyReading, type ReadText, type SourceReading } from './source.js';

const PREFIX = 'ALMANAC_';

interface EnvironmentSource {
  readonly environment: Environment;
  readonly role: Role;
  readonly readText: ReadText;
}

interface Target {
  readonly entry: Entry;
  readonly role: Role | undefined;
}

/** Returns all recognised names: `ALMANAC_HTTP__ADDR`, `ALMANAC_INGESTER__WAL__DIR`, `ALMANAC__NAMING`. */
function targetsOf({ entries }: ConfigSchema): ReadonlyMap<string, Target> {
  return new Map([
    // Names for one role come first, so that a name for all roles wins where both are spelled alike.
    ...ROLES.flatMap((role) =>
      entries.map((entry): [string, Target] => [`${PREFIX}${upper(role)}__${levels(entry)}`, { entry, role }]),
    ),
    ...entries.map((entry): [string, Target] => [environmentName(entry), { entry, role: undefined }]),
  ]);
}

/** Returns the environment variable that sets a key for all roles. */
export function environmentName(entry: Entry): string {
  return entry.section === 'top' ? `${PREFIX}_${levels(entry)}` : `${PREFIX}${levels(entry)}`;
}

/**
 * Reads the environment against the schema.
 *
 * Names without `__` are ignored, because an orchestrator may inject `ALMANAC_PORT` for a service of that name, unless they
 * are those of a key but for the number of underscores: `ALMANAC_USER_PROVIDER` would otherwise leave a server without users.
 */
export function readEnvironmentSource(
  schema: ConfigSchema,
  { environment, role, readText }: EnvironmentSource,
): SourceReading {
  const targets = targetsOf(schema);
  const reading = emptyReading();
  const intended = new Map([...targets.keys()].map((name) => [name.replaceAll('__', '_'), name]));
  for (const [name, value] of Object.entries(environment).sort()) {
    if (value === undefined || !name.startsWith(PREFIX)) continue;
    if (!name.includes('__')) {
      const meant = intended.get(name) ?? intended.get(name.replace(/_FILE$/, ''));
      if (meant !== undefined) reading.problems.push(`environment ${name}: unknown key; did you mean "${meant}"?`);
      continue;
    }
    const direct = targets.get(name);
    const target = direct ?? secretTarget(name, targets);
    if (target === undefined) {
      reading.problems.push(`environment ${name}: unknown key${suggestion(name, [...targets.keys()])}`);
      continue;
    }
    if (target.role !== undefined && target.role !== role) continue;
    const raw = direct === undefined ? readSecret(value, readText) : value;
    if (raw === undefined) {
      reading.problems.push(`environment ${name}: there is no file "${value}"`);
      continue;
    }
    const kind = target.role === undefined ? 'environment' : 'role environment';
    const origin = { kind, place: `environment ${name}`, isSecret: direct === undefined } as const;
    reading.assignments.push({ path: target.entry.path, raw, origin });
  }
  return reading;
}

/** Returns the text of a secret's file without one trailing line break. */
export function readSecret(path: string, readText: ReadText): string | undefined {
  return readText(path)?.replace(/\r?\n$/, '');
}

function secretTarget(name: string, targets: ReadonlyMap<string, Target>): Target | undefined {
  if (!name.endsWith('_FILE')) return undefined;
  const target = targets.get(name.slice(0, -'_FILE'.length));
  return target?.entry.key.isText === true ? target : undefined;
}

function levels(entry: Entry): string {
  return upper(entry.path).replaceAll('.', '__');
}

function upper(name: string): string {
  return name.toUpperCase();
}
