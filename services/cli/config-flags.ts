import { Option, type Command } from 'commander';

import { environmentName } from '#shared/config/env-source';
import { thisMachine } from '#shared/config/env';
import { loadConfig, type FlagValue, type LoadedConfig } from '#shared/config/load';
import { ROLES, type Role } from '#shared/config/role';
import type { Entry } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { readTextFile } from '#shared/fs/text-file';

import { CommandFailure, EXIT, type CommandContext } from './command.js';
import { CONFIG_SCHEMA } from './config-schema.js';

interface ConfigFlag {
  readonly flag: string;
  readonly argument: string;
  readonly path: string;
  readonly doc: string;
  /** Commands that have the flag; a command for any role has all flags. */
  readonly roles: readonly Role[];
}

/** Flags that set a configuration key. */
const FLAGS: readonly ConfigFlag[] = [
  {
    flag: '--data-dir',
    argument: '<folder>',
    path: 'storage.data_home',
    doc: 'data folder',
    roles: ROLES,
  },
  {
    flag: '--data-home',
    argument: '<folder>',
    path: 'storage.data_home',
    doc: 'the same as --data-dir',
    roles: ROLES,
  },
  {
    flag: '--http-addr',
    argument: '<address>',
    path: 'http.addr',
    doc: 'main listener',
    roles: ['standalone', 'gateway'],
  },
  {
    flag: '--grpc-addr',
    argument: '<address>',
    path: 'grpc.bind_addr',
    doc: 'listener for the other processes of the cluster',
    roles: ['gateway', 'ingester', 'querier', 'metadata'],
  },
  {
    flag: '--metadata-addr',
    argument: '<address>',
    path: 'metadata.addr',
    doc: 'address of the metadata process',
    roles: ['gateway', 'ingester', 'querier'],
  },
  {
    flag: '--log-level',
    argument: '<filter>',
    path: 'logging.level',
    doc: 'such as debug or info,gateway=debug',
    roles: ROLES,
  },
];

/**
 * Adds the flags that set configuration keys, and the one that names the file.
 *
 * @param role selects the flags; all flags if undefined.
 */
export function addConfigFlags(command: Command, role?: Role): Command {
  command.addOption(configFileOption());
  for (const { flag, argument, path, doc, roles } of FLAGS) {
    if (role !== undefined && !roles.includes(role)) continue;
    command.addOption(new Option(`${flag} ${argument}`, `${doc} (${defaultOf(path, role)}${environmentOf(path)})`));
  }
  return command;
}

/** Returns the option that names the configuration file. */
export function configFileOption(): Option {
  return new Option(
    '-c, --config-file <file>',
    'configuration file (default: ./almanac.toml, then /etc/almanac/almanac.toml; env: ALMANAC_CONFIG_FILE)',
  );
}

/** A default that differs by role is only shown where the role is known. */
function defaultOf(path: string, role: Role | undefined): string {
  const { key } = entryOf(path);
  const shown = new Set((role === undefined ? ROLES : [role]).map((each) => key.defaultValue(thisMachine(), each)));
  return shown.size === 1 ? `default: ${String([...shown][0])}, ` : '';
}

function environmentOf(path: string): string {
  return `env: ${environmentName(entryOf(path))}`;
}

function entryOf(path: string): Entry {
  const entry = CONFIG_SCHEMA.entries.find((candidate) => candidate.path === path);
  invariant(entry !== undefined, 'a flag sets a key that exists');
  return entry;
}

/** Values of the flags that `addConfigFlags` adds. */
export interface ConfigFlagValues {
  readonly configFile?: string;
  readonly [name: string]: unknown;
}

/**
 * Loads the configuration for a command with `addConfigFlags`.
 *
 * @throws `CommandFailure` with the usage exit code and all problems.
 */
export function loadConfigFor(role: Role, values: ConfigFlagValues, { environment }: CommandContext): LoadedConfig {
  const flags = FLAGS.flatMap(({ flag, path }): FlagValue[] => {
    const value = values[optionName(flag)];
    return typeof value === 'string' ? [{ flag, path, value }] : [];
  });
  try {
    const machine = thisMachine();
    return loadConfig({
      schema: CONFIG_SCHEMA,
      role,
      flags,
      configFile: values.configFile,
      environment,
      machine,
      readText: readTextFile,
    });
  } catch (error) {
    throw new CommandFailure(EXIT.usage, AlmanacError.from(error).message, { cause: error });
  }
}

/** Returns the property of a flag's value: `dataDir` for `--data-dir`. */
function optionName(flag: string): string {
  return flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
