import { Argument } from 'commander';

import type { Role } from '#shared/config/role';

import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import type { CliCommand } from '../command.js';

interface ServerText {
  readonly description: string;
  readonly examples: readonly string[];
}

const SERVERS: Readonly<Record<Role, ServerText>> = {
  standalone: {
    description: 'run everything in one process',
    examples: ['almanac standalone --data-dir /var/lib/almanac', 'almanac standalone --http-addr 127.0.0.1:0'],
  },
  gateway: {
    description: 'run a gateway: accepts writes and queries over HTTP',
    examples: ['almanac gateway --metadata-addr metadata:4031'],
  },
  ingester: {
    description: 'run an ingester: stores written rows',
    examples: ['almanac ingester --metadata-addr metadata:4031 --data-dir /mnt/almanac'],
  },
  querier: {
    description: 'run a querier: runs queries',
    examples: ['almanac querier --metadata-addr metadata:4031 --data-dir /mnt/almanac'],
  },
  metadata: {
    description: 'run the metadata service: databases, tables, and which node owns which region',
    examples: ['almanac metadata --data-dir /mnt/almanac'],
  },
};

/** One command for each kind of process. */
export const serverCommands: readonly CliCommand[] = (Object.keys(SERVERS) as Role[]).map(serverCommand);

function serverCommand(role: Role): CliCommand {
  const { description, examples } = SERVERS[role];
  return {
    name: role,

    define(parent, context) {
      addConfigFlags(parent.command(role), role)
        .description(description)
        .addHelpText('before', `Examples:\n${examples.map((line) => `  ${line}\n`).join('')}`)
        .addArgument(new Argument('[start]', 'optional').choices(['start']))
        .action(async (_start: string | undefined, flags: ConfigFlagValues) => {
          const loaded = loadConfigFor(role, flags, context);
          // Loaded on demand, so that all other commands start in milliseconds.
          const { runServer } = await import('../run-server.js');
          await runServer(role, loaded, context);
        });
    },
  };
}
