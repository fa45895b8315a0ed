import { Argument, Option, type Command } from 'commander';

import { localAddress } from '#shared/config/address';
import { ROLES, type Role } from '#shared/config/role';
import type { Config } from '#shared/config/schema';
import { readTextFile } from '#shared/fs/text-file';

import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import { caCertOption, namedServer, probedServer, type ServerTarget } from '../server-target.js';
import { CommandFailure, EXIT, type CliCommand, type CommandContext } from '../command.js';

/** Shorter than the 3 s after which a container's probe is killed, so that the reason is printed. */
const TIMEOUT_MS = 2_500;

interface HealthOptions extends ConfigFlagValues {
  readonly host?: string;
  readonly caCert?: string;
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
      .addOption(caCertOption())
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
    return checkHttp(httpServer(role, options, context), TIMEOUT_MS);
  }
  const { checkGrpc } = await import('../health/check-grpc.js');
  const { grpc, 'grpc.tls': tls } = grpcConfig(role, options, command, context);
  const certificate = tls.mode === 'disable' ? undefined : { cert: read(tls.certPath), key: read(tls.keyPath) };
  return checkGrpc(localAddress(grpc.bindAddr), TIMEOUT_MS, certificate);
}

function httpServer(role: Role, { host, caCert, ...flags }: HealthOptions, context: CommandContext): ServerTarget {
  if (host !== undefined) return namedServer(host, caCert);
  return probedServer(loadConfigFor(role, flags, context).config);
}

function grpcConfig(
  role: Role,
  { host: _host, caCert: _caCert, ...flags }: HealthOptions,
  command: Command,
  context: CommandContext,
): Config {
  // In the environment it names the gateway for other commands.
  if (command.getOptionValueSource('host') === 'cli') {
    throw new CommandFailure(EXIT.usage, `error: --host is for gateway and standalone; use --grpc-addr for ${role}`);
  }
  return loadConfigFor(role, flags, context).config;
}

function read(file: string): string {
  const text = readTextFile(file);
  if (text === undefined) throw new CommandFailure(EXIT.usage, `error: there is no file "${file}"`);
  return text;
}
