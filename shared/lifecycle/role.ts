import type { LoadedConfig } from '#shared/config/load';
import type { Logger } from '#shared/telemetry/log';
import type { ProcessProfiles } from '#shared/profiling/process-profiles';
import type { Metrics } from '#shared/telemetry/metrics';
import type { Tracing } from '#shared/telemetry/tracing';
import type { CertificateSource } from '#shared/tls/certificate-source';

import type { Service } from './service.js';

/** The log filter of the process, changeable while it runs. */
export interface LogFilterText {
  read(): string;
  /** Replaces the filter. @throws `invalid_arguments` if the text is malformed; nothing changes then. */
  change(text: string): void;
}

/** What a process of any role gets from the program that starts it. */
export interface RoleOptions {
  readonly loaded: LoadedConfig;
  /** Logger whose lines carry the role. */
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly logFilter: LogFilterText;
  readonly profiles: ProcessProfiles;
  readonly tracing: Tracing;
  /** Certificate for gRPC between the processes of a cluster; undefined without `[grpc.tls]`. */
  readonly peerCertificates: CertificateSource | undefined;
  /** Called once the process knows its node ID: all log lines carry it from then on. */
  readonly onNodeId: (nodeId: number) => void;
}

/** An address of the process, for the log. */
export interface RoleAddress {
  /** A fixed phrase: `main listener is open`, `dashboard`. */
  readonly message: string;
  /** `http://127.0.0.1:4000`, `grpc://127.0.0.1:4011` */
  readonly url: string;
}

/** A role that is ready. Draining includes the wait of `shutdown.delay` after readiness ended. */
export interface RunningRole extends Service {
  /** Logged in this order; users look for the last one. */
  readonly addresses: readonly RoleAddress[];
}

/** Starts a role. Resolves when it is ready; the process may exit at any time before. */
export type StartRole = (options: RoleOptions) => Promise<RunningRole>;
