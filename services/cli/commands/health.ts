import { Argument, Option } from 'commander';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';

import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import { serverUrl } from '../server-url.js';
import { EXIT, type CliCommand } from './command.js';

const TIMEOUT_MS = 3_000;

interface HealthOptions extends ConfigFlagValues {
  readonly host?: string;
}

export const health: CliCommand = {
  name: 'health',

  define(parent, context) {
    const { stdout, stderr, finish } = context;
    addConfigFlags(parent.command('health'))
      .description('ask a running server whether it is ready; exit code 3 if it is not')
      .addArgument(
        new Argument('[role]', 'which kind of server').choices(['standalone', 'gateway']).default('standalone'),
      )
      .addOption(new Option('--host <url>', 'server (default: the configured http.addr)').env('ALMANAC_HOST'))
      .action(async (role: 'standalone' | 'gateway', { host, ...flags }: HealthOptions) => {
        const url = serverUrl(host ?? reachableAddress(loadConfigFor(role, flags, context).config.http.addr));
        const problem = await askReady(url);
        if (problem === undefined) stdout.write('ready\n');
        else stderr.write(`not ready: ${problem}\n`);
        finish(problem === undefined ? EXIT.done : EXIT.notReady);
      });
  },
};

/** The address under which this machine reaches a listener, also one that is bound to all addresses. */
function reachableAddress(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

/** Why the server is not ready; `undefined` if it is. */
function askReady(url: string): Promise<string | undefined> {
  const get = url.startsWith('https:') ? getSecure : getPlain;
  return new Promise((resolve) => {
    const request = get(new URL('/ready', url), { timeout: TIMEOUT_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('error', (error) => resolve(error.message));
      response.on('end', () =>
        resolve(response.statusCode === 200 ? undefined : `${response.statusCode} ${body.trim()}`),
      );
    });
    request.on('timeout', () => request.destroy(new TimeoutReached()));
    request.on('error', (error: NodeJS.ErrnoException) => resolve(`${url}: ${error.code ?? error.message}`));
  });
}

class TimeoutReached extends Error {
  override readonly message = `no answer within ${TIMEOUT_MS / 1000} s`;
}
