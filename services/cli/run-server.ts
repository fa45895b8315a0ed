import { hostname } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { headersOf } from '#shared/config/headers';
import type { LoadedConfig } from '#shared/config/load';
import type { Config } from '#shared/config/schema';
import type { Role } from '#shared/config/role';
import { AlmanacError } from '#shared/errors/almanac-error';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { RoleAddress, RunningRole, StartRole } from '#shared/lifecycle/role';
import { handleStopSignals } from '#shared/lifecycle/signals';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { keepHeapSlack } from '#shared/limits/heap-slack';
import { ProcessProfiles } from '#shared/profiling/process-profiles';
import type { MetricsExporter } from '#shared/node/metrics-export/metrics-exporter';
import { startRemoteExport } from '#shared/node/metrics-export/remote-write';
import { openLog, writeToStandardError, type Logger } from '#shared/telemetry/log';
import { countLogLines, Metrics, showVersion } from '#shared/telemetry/metrics';
import { Tracing, type TracingOptions } from '#shared/telemetry/tracing';
import { openCertificates, type CertificateSource, type CertificateSourceDeps } from '#shared/tls/certificate-source';
import { printByteSize } from '#shared/time/byte-size';

import { isColoured } from './colour.js';
import { EXIT, type CommandContext } from './command.js';
import { startText } from './start-text.js';

/** Loaded on demand: a process contains only the code of its own role. */
const STARTS: Readonly<Record<Role, () => Promise<StartRole>>> = {
  standalone: async () => (await import('#services/standalone/index')).startStandalone,
  gateway: async () => (await import('#services/gateway/role')).startGatewayRole,
  ingester: async () => (await import('#services/ingester/role')).startIngesterRole,
  querier: async () => (await import('#services/querier/role')).startQuerierRole,
  metadata: async () => (await import('#services/metadata/role')).startMetadataRole,
};

/** Runs a server until a signal stops it. Resolves when it is ready, or when its start has failed. */
export async function runServer(role: Role, loaded: LoadedConfig, context: CommandContext): Promise<void> {
  const { config } = loaded;
  const startedMs = systemClock.monotonicMs();
  const metrics = new Metrics(config.metrics);
  const opened = openLog({
    filter: config.logging.level,
    format: logFormat(config.logging.logFormat, context),
    coloured: isColoured(context.stderr, context.environment),
    clock: systemClock,
    write: writeToStandardError(),
    onLine: countLogLines(metrics),
  });
  const { logger: log, setFields } = opened;
  let filterText = config.logging.level;
  const logFilter = {
    read: () => filterText,
    change(text: string) {
      opened.setFilter(text);
      filterText = text;
    },
  };
  setFields({ role });
  showVersion(metrics, role, readBuildInfo());
  stopAtBugs(log);
  logSources(log, loaded);
  if (config.enableTelemetry) log.warn({}, 'enable_telemetry has no effect: Almanac never sends usage figures');
  keepHeapSlack(config.memory.limitBytes, systemClock);

  const profiles = new ProcessProfiles({
    clock: systemClock,
    fs: nodeFileSystem,
    log: log.child({ component: 'profiling' }),
    folder: join(config.storage.dataHome, 'profiles'),
  });
  const tracing = new Tracing(tracingOptions(role, loaded, log));
  if (config.logging.enableOtlpTracing) await tracing.enable();
  if (config.memory.enableHeapProfiling) await profiles.changeHeapSampling('activate');

  let server: RunningRole | undefined;
  let exporter: MetricsExporter | undefined;
  handleStopSignals({
    log,
    process,
    clock: systemClock,
    timeoutMs: config.shutdown.timeoutMs,
    drain: async () => {
      // Before the start is complete nothing was acknowledged, so there is nothing to drain.
      await exporter?.stop();
      await server?.drain();
      await server?.stop();
      await tracing.disable();
    },
  });
  try {
    const start = await STARTS[role]();
    server = await start({
      loaded,
      log,
      metrics,
      logFilter,
      profiles,
      tracing,
      peerCertificates: openPeerCertificates(role, config, { clock: systemClock, log, metrics }),
      onNodeId: (nodeId) => setFields({ nodeId }),
    });
    exporter = startRemoteExport({ role, config, log, metrics, addresses: server.addresses });
    reportReady(server.addresses, { role, config, context, log, startMs: systemClock.monotonicMs() - startedMs });
  } catch (error) {
    // An expected failure, such as a port in use, needs no stack.
    const fields = error instanceof AlmanacError ? { code: error.code, reason: error.message } : { error };
    log.error(fields, 'start failed');
    // Components that are already open could keep the process alive.
    process.exit(EXIT.failed);
  }
}

/** A standalone process has no gRPC. */
function openPeerCertificates(role: Role, config: Config, deps: CertificateSourceDeps): CertificateSource | undefined {
  if (role === 'standalone') return undefined;
  return openCertificates('grpc.tls', config['grpc.tls'], { ...deps, log: deps.log.child({ component: 'grpc.tls' }) });
}

function tracingOptions(role: Role, { config }: LoadedConfig, log: Logger): TracingOptions {
  const { otlpEndpoint, otlpHeaders, tracingSampleRatio } = config.logging;
  const tracingLog = log.child({ component: 'tracing' });
  return {
    endpoint: otlpEndpoint,
    headers: headersOf(otlpHeaders),
    sampleRatio: Number(tracingSampleRatio),
    resource: {
      'service.name': `almanac-${role}`,
      'service.version': readBuildInfo().version,
      'host.name': hostname(),
      'process.pid': process.pid,
    },
    onFailure: (error) => {
      const reason = AlmanacError.from(error).message;
      // The exporter's errors of HTTP carry the status; others have a text or nothing there.
      const isRefused = [401, 403].includes((error as { readonly code?: number }).code ?? 0);
      const advice = isRefused ? '; set credentials of a user who may write there in logging.otlp_headers' : '';
      tracingLog.warn({ endpoint: otlpEndpoint, reason: `${reason}${advice}` }, 'spans not sent');
    },
  };
}

function logSources(log: Logger, { config, file, warnings }: LoadedConfig): void {
  const { version, commit } = readBuildInfo();
  log.info({ version, commit: commit.slice(0, 7), node: process.version }, 'almanac starts');
  log.info({ file: file ?? 'none', dataHome: config.storage.dataHome }, 'configuration loaded');
  log.info(
    { limitBytes: config.memory.limitBytes, limit: printByteSize(config.memory.limitBytes) },
    'memory budget computed',
  );
  for (const warning of warnings) log.warn({ warning }, 'configuration has a problem');
}

/** An uncaught error leaves an unknown state: recovery at the next start is the tested path. */
function stopAtBugs(log: Logger): void {
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (error: unknown) => {
      log.error({ error }, 'exiting after an unexpected error');
      process.exit(EXIT.failed);
    });
  }
}

interface Start {
  readonly role: Role;
  readonly config: Config;
  readonly context: CommandContext;
  readonly log: Logger;
  readonly startMs: number;
}

function reportReady(addresses: readonly RoleAddress[], { role, config, context, log, startMs }: Start): void {
  if (isForPeople(config, context)) {
    const { version } = readBuildInfo();
    const { dataHome } = config.storage;
    context.stderr.write(startText({ role, version, dataHome, addresses, startMs }));
    return;
  }
  for (const { message, url } of addresses) log.info({ url }, message);
  log.info({ durationMs: Math.round(startMs) }, 'ready');
}

/** Whether a person reads standard error. */
function isForPeople({ logging }: Config, context: CommandContext): boolean {
  return context.stderr.isTTY && logFormat(logging.logFormat, context) === 'text';
}

function logFormat(chosen: 'auto' | 'text' | 'json', { stderr }: CommandContext): 'text' | 'json' {
  if (chosen !== 'auto') return chosen;
  return stderr.isTTY ? 'text' : 'json';
}
