import { hostname } from 'node:os';

import { compress } from 'snappy';

import { systemClock } from '#shared/clock/clock';
import { headersOf } from '#shared/config/headers';
import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { RoleAddress } from '#shared/lifecycle/role';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';

import { MetricsExporter } from './metrics-exporter.js';

/** A process that sends its metrics. */
export interface SendingProcess {
  readonly role: string;
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly addresses: readonly RoleAddress[];
}

/** Starts sending the metrics of this process to `export_metrics.remote_write_url`; undefined if it is not configured. */
export function startRemoteExport({
  role,
  config,
  log,
  metrics,
  addresses,
}: SendingProcess): MetricsExporter | undefined {
  const { enable, remoteWriteUrl: url, remoteWriteHeaders, writeIntervalMs } = config.export_metrics;
  if (!enable || url === undefined) return undefined;
  const headers = {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'snappy',
    'x-prometheus-remote-write-version': '0.1.0',
    'user-agent': `almanac/${readBuildInfo().version}`,
    ...headersOf(remoteWriteHeaders),
  };
  const labels = { job: 'almanac', instance: instanceAt(addresses), role };
  const exporter = new MetricsExporter({
    intervalMs: writeIntervalMs,
    clock: systemClock,
    log: log.child({ component: 'metrics' }),
    metrics,
    sources: () => Promise.resolve([{ labels, read: () => metrics.print() }]),
    send: (request, call) => post(url, headers, request, call),
  });
  exporter.start();
  return exporter;
}

/** Returns host name and port of a process, by the listener that is logged last. */
export function instanceAt(addresses: readonly Pick<RoleAddress, 'url'>[]): string {
  const { url } = addresses[addresses.length - 1];
  return `${hostname()}:${new URL(url).port}`;
}

async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  request: Buffer,
  { signal }: Call,
): Promise<void> {
  const body = Uint8Array.from(await compress(request));
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause.message : String(thrown);
    throw new AlmanacError('external', `export_metrics.remote_write_url cannot be reached: ${cause}`, {
      cause: thrown,
    });
  }
  await response.body?.cancel();
  if (response.ok) return;
  const isRefused = response.status === 401 || response.status === 403;
  const advice = isRefused ? ': set credentials in export_metrics.remote_write_headers' : '';
  throw new AlmanacError('external', `export_metrics.remote_write_url replied with status ${response.status}${advice}`);
}
