import { Option, type Command } from 'commander';

import { thisMachine } from '#shared/config/env';
import { loadConfig, type FlagValue, type LoadedConfig } from '#shared/config/load';
import type { Role } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import { readTextFile } from '#shared/fs/text-file';

import { CommandFailure, EXIT, type CommandContext } from './commands/command.js';

interface ConfigFlag {
  readonly flag: string;
  readonly argument: string;
  readonly path: string;
  readonly doc: string;
}

/** Flags that set a configuration key. */
const FLAGS: readonly ConfigFlag[] = [
  {
    flag: '--data-dir',
    argument: '<folder>',
    path: 'storage.data_home',
    doc: 'data folder (default: ./almanac-data, env: ALMANAC_STORAGE__DATA_HOME)',
  },
  { flag: '--data-home', argument: '<folder>', path: 'storage.data_home', doc: 'the same as --data-dir' },
  {
    flag: '--http-addr',
    argument: '<address>',
    path: 'http.addr',
    doc: 'main listener (default: 127.0.0.1:4000, env: ALMANAC_HTTP__ADDR)',
  },
  {
    flag: '--log-level',
    argument: '<filter>',
    path: 'logging.level',
    doc: 'such as debug or info,gateway=debug (default: info, env: ALMANAC_LOGGING__LEVEL)',
  },
];

/** Adds the flags that set configuration, and the one that names the file. */
export function addConfigFlags(command: Command): Command {
  command.addOption(
    new Option(
      '-c, --config-file <file>',
      'configuration file (default: ./almanac.toml, then /etc/almanac/almanac.toml; env: ALMANAC_CONFIG_FILE)',
    ),
  );
  for (const { flag, argument, doc } of FLAGS) command.addOption(new Option(`${flag} ${argument}`, doc));
  return command;
}

export interface ConfigFlagValues {
  readonly configFile?: string;
  readonly [name: string]: unknown;
}

/**
 * The configuration of a command with `addConfigFlags`.
 *
 * @throws `CommandFailure` of kind usage, with all problems.
 */
export function loadConfigFor(role: Role, values: ConfigFlagValues, { environment }: CommandContext): LoadedConfig {
  const flags = FLAGS.flatMap(({ flag, path }): FlagValue[] => {
    const value = values[optionName(flag)];
    return typeof value === 'string' ? [{ flag, path, value }] : [];
  });
  try {
    const machine = thisMachine();
    return loadConfig({ role, flags, configFile: values.configFile, environment, machine, readText: readTextFile });
  } catch (error) {
    throw new CommandFailure(EXIT.usage, AlmanacError.from(error).message, { cause: error });
  }
}

/** `--data-dir` is `dataDir` among the values. */
function optionName(flag: string): string {
  return flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
