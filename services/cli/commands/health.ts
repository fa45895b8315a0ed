import { Argument, Option, type Command } from 'commander';

import { localAddress } from '#shared/config/address';
import { ROLES, type Role } from '#shared/config/role';

import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import { serverUrl } from '../server-url.js';
import { CommandFailure, EXIT, type CliCommand, type CommandContext } from '../command.js';

/** Shorter than the 3 s after which a container's probe is killed, so that the reason is printed. */
const TIMEOUT_MS = 2_500;

interface HealthOptions extends ConfigFlagValues {
  readonly host?: string;
}

/** `almanac health`. */
export const healthCommand: CliCommand = {
  name: 'health',

  define(parent, context) {
    const { stdout, stderr, finish } = context;
    addConfigFlags(parent.command('health'))
      .description('check whether a running server is ready; exit code 3 if it is not')
      .addHelpText('before', 'Examples:\n  almanac health\n  almanac health ingester --grpc-addr 10.0.0.5:4011\n')
      .addArgument(new Argument('[role]', 'which kind of server').choices([...ROLES]).default('standalone'))
      .addOption(
        new Option('--host <url>', 'gateway or standalone (default: the configured http.addr)').env('ALMANAC_HOST'),
      )
      .action(async (role: Role, options: HealthOptions, command: Command) => {
        const problem = await checkHealth(role, options, command, context);
        if (problem === undefined) stdout.write('ready\n');
        else stderr.write(`not ready: ${problem}\n`);
        finish(problem === undefined ? EXIT.done : EXIT.notReady);
      });
  },
};

/** Clients are loaded on demand, because a probe runs every few seconds. */
async function checkHealth(
  role: Role,
  options: HealthOptions,
  command: Command,
  context: CommandContext,
): Promise<string | undefined> {
  if (role === 'standalone' || role === 'gateway') {
    const { checkHttp } = await import('../health/check-http.js');
    return checkHttp(httpUrl(role, options, context), TIMEOUT_MS);
  }
  const { checkGrpc } = await import('../health/check-grpc.js');
  return checkGrpc(grpcAddress(role, options, command, context), TIMEOUT_MS);
}

function httpUrl(role: Role, { host, ...flags }: HealthOptions, context: CommandContext): string {
  return serverUrl(host ?? localAddress(loadConfigFor(role, flags, context).config.http.addr));
}

function grpcAddress(
  role: Role,
  { host: _, ...flags }: HealthOptions,
  command: Command,
  context: CommandContext,
): string {
  // In the environment it names the gateway for other commands.
  if (command.getOptionValueSource('host') === 'cli') {
    throw new CommandFailure(EXIT.usage, `error: --host is for gateway and standalone; use --grpc-addr for ${role}`);
  }
  return localAddress(loadConfigFor(role, flags, context).config.grpc.bindAddr);
}
