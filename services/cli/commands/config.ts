import { Option } from 'commander';

import { printConfig, printDefaults } from '#shared/config/print';
import { ROLES, type Role } from '#shared/config/role';

import { CONFIG_SCHEMA } from '../config-schema.js';
import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import { CommandFailure, EXIT, type CliCommand } from '../command.js';
import { problemsOfFiles } from '../configured-files.js';

interface PrintOptions extends ConfigFlagValues {
  readonly role: Role;
  readonly sources: boolean;
}

/** `almanac config`. */
export const configCommand: CliCommand = {
  name: 'config',

  define(parent, context) {
    const { stdout, stderr, finish } = context;
    const command = parent
      .command('config')
      .description('check and print the configuration')
      .addHelpText(
        'before',
        'Examples:\n  almanac config check almanac.toml\n  almanac config default > almanac.toml\n',
      );

    command
      .command('check')
      .description('validate a file, and the user file and certificates that it names, as the server does at its start')
      .argument('[file]', 'default: the file that the server would read')
      .addOption(roleOption())
      .action((file: string | undefined, { role }: { readonly role: Role }) => {
        const loaded = loadConfigFor(role, file === undefined ? {} : { configFile: file }, context);
        const problems = problemsOfFiles(role, loaded.config, (line) => void stderr.write(line));
        if (problems.length > 0) throw new CommandFailure(EXIT.usage, problems.join('\n'));
        for (const warning of loaded.warnings) stderr.write(`warning: ${warning}\n`);
        stdout.write(`ok: ${loaded.file ?? 'no file, defaults and environment only'}\n`);
        finish(EXIT.done);
      });

    addConfigFlags(command.command('print'))
      .description('print the effective configuration')
      .option('--sources', 'show where each value came from', false)
      .addOption(roleOption())
      .action(({ role, sources, ...flags }: PrintOptions) => {
        stdout.write(printConfig(loadConfigFor(role, flags, context), { withSources: sources }));
        finish(EXIT.done);
      });

    command
      .command('default')
      .description('print a file with every key commented out and described')
      .addOption(roleOption())
      .action(({ role }: { readonly role: Role }) => {
        stdout.write(printDefaults(CONFIG_SCHEMA, role));
        finish(EXIT.done);
      });
  },
};

function roleOption(): Option {
  return new Option('--role <role>', 'whose configuration').choices([...ROLES]).default('standalone');
}
