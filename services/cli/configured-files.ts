import { openUserProvider } from '#shared/auth/user-provider';
import { systemClock } from '#shared/clock/clock';
import type { Role } from '#shared/config/role';
import type { Config } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import { openLog, type Logger } from '#shared/telemetry/log';
import { readCertificateSet } from '#shared/tls/certificate';

/**
 * Reads the user file and the certificates that a configuration names, as the server of a role does at its start.
 *
 * @param write receives lines about what the server would ignore.
 * @returns why the server would not start; empty if it would.
 */
export function problemsOfFiles(role: Role, config: Config, write: (line: string) => void): string[] {
  const { logger } = openLog({ filter: 'warn', format: 'text', coloured: false, clock: systemClock, write });
  const hasHttp = role === 'standalone' || role === 'gateway';
  const hasGrpc = role !== 'standalone';
  const checks: (() => void)[] = [];
  if (hasHttp) checks.push(() => checkUsers(config.userProvider, logger));
  if (hasHttp) checks.push(() => checkCertificates('http.tls', config, logger));
  if (hasGrpc) checks.push(() => checkCertificates('grpc.tls', config, logger));
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      return [AlmanacError.from(error).message];
    }
  });
}

function checkUsers(userProvider: string, log: Logger): void {
  openUserProvider(userProvider, { clock: systemClock, log })?.close();
}

function checkCertificates(section: 'http.tls' | 'grpc.tls', config: Config, log: Logger): void {
  if (config[section].mode === 'disable') return;
  const { subject, notAfterMs } = readCertificateSet(section, config[section]);
  if (notAfterMs >= systemClock.nowMs()) return;
  log.warn({ section, subject, notAfter: new Date(notAfterMs).toISOString() }, 'TLS certificate has expired');
}
