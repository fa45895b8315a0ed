import { hostname } from 'node:os';

import type { Clock } from '#shared/clock/clock';
import type { LoadedConfig } from '#shared/config/load';
import { printConfig } from '#shared/config/print';
import type { AdminService, StorageStatus } from '#shared/contracts/gen/admin';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { LogFilterText } from '#shared/lifecycle/role';
import type { ProcessProfiles } from '#shared/profiling/process-profiles';
import type { Metrics } from '#shared/telemetry/metrics';
import { OPEN_METRICS_TYPE, openMetricsText } from '#shared/telemetry/open-metrics';
import type { Tracing } from '#shared/telemetry/tracing';

import type { Stage } from './stage.js';
import { TimedLogFilter } from './timed-log-filter.js';

/** What the admin service reads from its process. */
export interface AdminParts {
  readonly role: string;
  readonly loaded: LoadedConfig;
  readonly metrics: Metrics;
  readonly logFilter: LogFilterText;
  readonly profiles: ProcessProfiles;
  readonly tracing: Tracing;
  readonly stage: Stage;
  readonly clock: Clock;
  /** 0 until the process has registered. */
  readonly nodeId: () => number;
  /** Returns what the process stores; undefined until it has started, and if it stores nothing. */
  readonly storage?: () => Promise<StorageStatus | undefined>;
}

/** Creates the service by which a process reports its state and is diagnosed. */
export function adminService(parts: AdminParts): AdminService {
  const { role, loaded, metrics, logFilter, profiles, tracing, stage, clock, nodeId, storage } = parts;
  const { version, commit, branch } = readBuildInfo();
  const startedMs = clock.nowMs();
  const filters = new TimedLogFilter(logFilter, clock);
  return {
    status: async ({ storage: isRequested = false }) => ({
      role,
      nodeId: nodeId(),
      version,
      commit,
      branch,
      hostname: hostname(),
      nodeVersion: process.version,
      startedMs,
      state: stage.state,
      waiting: stage.waiting,
      progress: stage.progress,
      storage: isRequested ? await storage?.() : undefined,
    }),
    async metrics({ openMetrics }) {
      const text = await metrics.print();
      return openMetrics
        ? { contentType: OPEN_METRICS_TYPE, text: openMetricsText(text) }
        : { contentType: metrics.contentType, text };
    },
    config: ({ sources }) => Promise.resolve({ toml: printConfig(loaded, { withSources: sources }) }),
    setLogFilter: ({ filter, forMs }) => {
      const previous = logFilter.read();
      if (filter !== '') filters.change(filter, forMs);
      return Promise.resolve({ previous, ...filters.state });
    },
    cpuProfile: async (options, { signal }) => ({ pprof: await profiles.cpu(options, signal) }),
    heapProfile: async () => ({ pprof: await profiles.heap() }),
    async setTracing({ change }) {
      if (change === 'enable') await tracing.enable();
      else if (change === 'disable') await tracing.disable();
      return { enabled: tracing.isOn };
    },
    async setHeapSampling({ change }) {
      return change === '' ? profiles.heapSampling : profiles.changeHeapSampling(change);
    },
  };
}
