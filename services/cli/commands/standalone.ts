import { Argument } from 'commander';

import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import type { CliCommand } from './command.js';

export const standalone: CliCommand = {
  name: 'standalone',

  define(parent, context) {
    addConfigFlags(parent.command('standalone'))
      .description('run everything in one process')
      .addHelpText(
        'before',
        'Examples:\n  almanac standalone --data-dir /var/lib/almanac\n  almanac standalone --http-addr 127.0.0.1:0\n',
      )
      .addArgument(new Argument('[start]', 'may be left out').choices(['start']))
      .action(async (_start: string | undefined, flags: ConfigFlagValues) => {
        const loaded = loadConfigFor('standalone', flags, context);
        // Loaded only now, so that all other commands start in milliseconds.
        const { runStandalone } = await import('../run-standalone.js');
        await runStandalone(loaded, context);
      });
  },
};
